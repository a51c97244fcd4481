"""Modules, names and settings that honest notebooks use.

The tables are allow-lists: what they lack is conspicuous. So nothing has to be known about attacks.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import re
import sys
from types import FunctionType, ModuleType

from ... import __all__ as OFFERED


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Modules with nothing behind their public names that an attack would need, but for `_EXCEPT`.
_OPEN = words(
    """
    abc argparse ast asyncio base64 bisect calendar cmath collections colorsys contextlib copy csv
    cv2 cycler d2l dataclasses datasets datetime decimal difflib dis doctest einops email enum fastai fastcore
    fractions functools glob google graphviz gzip hashlib heapq html io ipywidgets itertools joblib json keyword
    lightning locale logging lzma math matplotlib mpl_toolkits nest_asyncio networkx numbers numpy operator
    packaging pandas pathlib pickle PIL platform posixpath plotly pprint pytest pytorch_lightning queue random re
    requests rich scipy seaborn shutil sklearn statistics string struct subprocess tabulate tarfile tempfile tensorboard
    tensorboardX textwrap this time timeit tokenize torch torchaudio torchinfo torchmetrics torchsummary
    torchtext torchvision torchviz tqdm traceback tracemalloc transformers typing typing_extensions unicodedata
    urllib uuid wandb warnings weakref yaml zipfile zlib
    """
)
# Names and modules inside open ones, each with all that lies below it.
_EXCEPT = (
    "asyncio.Task",
    "asyncio.all_tasks",
    "asyncio.current_task",
    "asyncio.ensure_future",
    "asyncio.tasks",
    "functools.update_wrapper",
    "logging.config",
    "logging.currentframe",
    "numpy.ctypeslib",
    "numpy.distutils",
    "numpy.f2py",
    "numpy.lib",
    "operator.delitem",
    "operator.setitem",
    "pickle.Unpickler",
    "pytest.MonkeyPatch",
    "pytest.raises",
    "shutil.register_unpack_format",
    "string.Formatter",
    "torch.classes",
    "torch.hub",
    "torch.library.Library",
    "torch.library.impl",
    "torch.library.register_kernel",
    "torch.ops.load_library",
    "torch.overrides.get_overridable_functions",
    "torch.package",
    *(f"torch.sparse_{kind}_tensor" for kind in words("bsc bsr compressed csc csr")),  # write at any address
    "torch.utils.cpp_extension",
    "traceback.StackSummary",
    "traceback.walk_stack",
    "traceback.walk_tb",
    "warnings.filters",
)
# Private names that tutorials use.
_PRIVATE = re.compile(
    r"torch\.utils\._(python_dispatch|pytree)(\.[a-zA-Z]\w*)*"
    r"|torch\._subclasses(\.fake_tensor)?(\.FakeTensor\w*)?|torch\._foreach_\w+|torch\._assert|torch\.__config__(\.\w+)?|torch\._C(\._current_autograd_node)?"
    r"|torch\._(dynamo|inductor)(\.(config(\.\w+)*|explain|reset|disable|list_backends|utils|graph_break))?"
    r"|(\w+\.)*Tensor\._make_(wrapper_)?subclass|ssl\._create_(unverified|default_https)_context|os\._exit"
    r"|torch\.optim\.lr_scheduler\._LRScheduler|torch\.autograd(\.variable)?\.Variable\._execution_engine(\.queue_callback)?"
)
# Modules of which only these names are ordinary.
_ONLY = {
    module: words(names)
    for module, names in {
        "IPython": "display get_ipython core __version__ version_info",
        "__future__": "annotations division print_function absolute_import unicode_literals",
        "atexit": "register",
        "autograder": " ".join((*OFFERED, "measure", "__version__")),
        "builtins": "print input help",
        "cProfile": "Profile run",
        "concurrent": "futures",
        "errno": "ENOENT EEXIST EACCES",
        "faulthandler": "enable disable is_enabled",
        "gc": """collect enable disable isenabled get_count get_stats get_threshold set_threshold get_objects
            get_referrers""",
        "get_ipython()": """run_line_magic run_cell_magic magic system getoutput set_next_input kernel config user_ns
            __class__ history_manager display_formatter events set_custom_exc displayhook""",
        "importlib": "reload util metadata invalidate_caches",
        "importlib.util": "find_spec",
        "inspect": """getsource getsourcelines signature Parameter Signature getdoc cleandoc isclass isfunction ismodule
            ismethod isbuiltin iscoroutinefunction isgenerator isgeneratorfunction isabstract getfile getsourcefile
            getmro getfullargspec unwrap currentframe stack get_annotations""",
        "matplotlib_inline": "backend_inline",
        "matplotlib_inline.backend_inline": "set_matplotlib_formats",
        "multiprocessing": "Pool Process Queue cpu_count get_context set_start_method Manager Value Array Pipe pool",
        "os": """environ getenv getcwd chdir listdir makedirs mkdir path remove unlink rename replace rmdir removedirs
            cpu_count getpid getppid sep name linesep walk scandir stat system popen urandom sched_getaffinity fspath
            PathLike kill get_terminal_size curdir pardir pathsep devnull access R_OK W_OK X_OK F_OK uname getuid
            getlogin times nice sched_setaffinity""",
        "pdb": "Pdb set_trace pm post_mortem",
        "psutil": "process_iter Process virtual_memory cpu_percent cpu_count cpu_times swap_memory disk_usage",
        "pstats": "Stats SortKey",
        "resource": "getrusage RUSAGE_SELF RUSAGE_CHILDREN getrlimit setrlimit RLIMIT_AS RLIMIT_NOFILE",
        "signal": "signal alarm setitimer ITIMER_REAL SIGALRM SIGINT SIGTERM SIGUSR1 SIG_DFL SIG_IGN Signals strsignal",
        "socket": "gethostname",
        "ssl": "_create_unverified_context _create_default_https_context create_default_context",
        "sympy": """symbols Symbol diff Derivative integrate simplify exp sin cos tan tanh log sqrt Abs Matrix Function
            Rational pi E oo init_printing latex pprint hessian expand factor solve Eq series limit derive_by_array N
            Integer Float cosh sinh lambdify sympify simplify""",
        "sys": """version version_info path argv executable platform stdout stderr stdin getsizeof getrefcount maxsize
            float_info int_info modules exit exc_info byteorder getrecursionlimit setrecursionlimit flags hexversion
            implementation getdefaultencoding intern maxunicode prefix float_repr_style excepthook displayhook
            last_traceback last_type last_value settrace setprofile
            setswitchinterval getswitchinterval set_int_max_str_digits""",
        "threading": """Thread Lock RLock Event Timer Semaphore BoundedSemaphore local current_thread active_count
            main_thread get_ident Condition Barrier""",
        "types": """SimpleNamespace MethodType FunctionType LambdaType BuiltinFunctionType ModuleType GeneratorType
            MappingProxyType NoneType""",
        "unittest": "TestCase TestLoader TestSuite TextTestRunner defaultTestLoader main skip",
    }.items()
}
# Values that honest notebooks set in other people's modules, with all that lies below them.
_SETTINGS = re.compile(
    r"(matplotlib(\.pyplot)?|seaborn)\.rcParams(Default)?|torch\.backends|torch\._(dynamo|inductor)\.config|os\.environ"
    r"|numpy\.(set_\w+)|pandas\.options|PIL\.(Image\.MAX_IMAGE_PIXELS|ImageFile\.LOAD_TRUNCATED_IMAGES)"
    r"|sys\.(stdout|stderr|path|argv|excepthook)|builtins\.(print|input|help|exit|quit)|json\.JSONEncoder\.default"
    r"|(\w+\.)+__(repr|str|format)__|warnings\.(warn|showwarning|formatwarning)|plotly|tqdm|wandb|rich|pandas\.set_option"
    r"|get_ipython\(\)\.(config|user_ns|history_manager|displayhook)|sys\.last_(traceback|type|value)|torch\.(pi|load|save)"
    r"|torch\.(cuda\.(set_device|\w+Tensor)|nn\.Module\.cuda|Tensor\.(cuda|ndim))|IPython\.core\.interactiveshell\.InteractiveShell\.ast_node_interactivity"
    r"|ssl\._create_default_https_context|logging|transformers|google|decimal"
)
_CORE = re.compile(
    r"IPython\.core(\.(display(\.\w+)?|pylabtools(\.\w+)?|magic(\.(register_\w+|magics_class|Magics|\w+_magic))?"
    r"|interactiveshell(\.InteractiveShell(\.ast_node_interactivity)?)?|debugger(\.set_trace)?))?"
)  # parts of IPython's inside that notebooks use

SPECIAL_ATTRIBUTES = words(
    """
    __abs__ __add__ __all__ __annotations__ __bool__ __call__ __cause__ __class__ __code__ __contains__ __context__
    __copy__ __deepcopy__ __delitem__ __dict__ __doc__ __enter__ __eq__ __exit__ __file__ __float__ __format__
    __getitem__ __hash__ __init__
    __int__ __iter__ __len__ __matmul__ __module__ __mro__ __mul__ __name__ __neg__ __new__ __next__ __pow__
    __post_init__ __qualname__ __radd__ __repr__ __rmul__ __setattr__ __setitem__ __str__ __sub__
    __torch_dispatch__ __torch_function__ __traceback__ __truediv__ __version__
    """
)
UNUSUAL_METHODS = words(
    "__array_interface__ __array_struct__ __buffer__ __getattribute__ __prepare__ __reduce__ __reduce_ex__"
)
# Attributes that lead from an object to frames, code, namespaces and other people's modules.
HIDDEN_ATTRIBUTES = words(
    """
    ccol_indices col_indices crow_indices from_file madvise memmap open_connection row_indices start_server
    ag_code ag_frame cell_contents co_code co_consts co_names cr_code cr_frame f_back f_builtins f_globals f_locals
    func_globals get_stack gi_code gi_frame loadTestsFromName loadTestsFromNames run_code tb_frame tb_next
    """
)
SETTABLE = words("__annotations__ __class__ __dict__ __doc__ __name__ __qualname__ __signature__ __wrapped__")
HIDDEN_TEXTS = re.compile(
    rf"\b({'|'.join(sorted(HIDDEN_ATTRIBUTES))}|__(globals|closure|builtins|subclasses|getattribute|import|loader"
    rf"|spec|self|func|wrapped|defaults|kwdefaults|reduce|reduce_ex|bases|array_interface)__|_getframe|_current_frames)\b"
    r"|/proc/(?!cpuinfo|meminfo|version|uptime|loadavg)"
)
SHOWING = words(
    "print help dir hasattr getattr isinstance issubclass type id len repr str callable delattr setattr reload"
)
MAGICS = words(
    """aimport alias autocall automagic autoreload autosave bash bookmark capture cat cd clear colors conda
    config connect_info cp debug dhist dirs doctest_mode env flake8_off flake8_on gui hist history html
    javascript js killbgscripts latex ldir less lf lk ll load_ext logoff logon logstart logstate logstop lprun
    ls lsmagic lx magic man markdown matplotlib memit mkdir more mprun mv nb_black notebook page pastebin pdb
    pdef pdoc perl pfile pinfo pinfo2 pip popd pprint precision prun psearch psource pushd pwd pycat
    pycodestyle_off pycodestyle_on pylab quickref rehashx reload_ext reset reset_selective rm rmdir ruby run sc
    script set_env sh store svg sx system tensorboard time timeit unalias unload_ext uv wandb watermark who
    who_ls whos writefile xdel xmode"""
)
_NAMES = frozenset(("__name__", "__file__", "__doc__", "__class__", "__annotations__"))


def is_unusual_name(name: str) -> bool:
    """Return whether an ordinary notebook does not load a global name, such as `__builtins__`."""
    return name == "memoryview" or (name.startswith("__") and name.endswith("__") and name not in _NAMES)


def at_home(path: str) -> str:
    """Return a dotted path, beginning with the last module on it: "sys.modules" for "torch.sys.modules"."""
    module, _, name = path.rpartition(".")
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return found.__name__ if isinstance(found, ModuleType) else path


@functools.lru_cache(4096)
def is_ordinary(path: str) -> bool:
    """Return whether honest notebooks use a module, or the part of it that a dotted path names.

    An example is "torch.nn.functional.relu". A function of `sys` in another module is judged as a part of `sys`.
    """
    found = _find(path)
    if isinstance(found, (FunctionType, type)) and found.__module__ != "builtins":
        home = f"{found.__module__}.{found.__qualname__}"
        elsewhere = home.partition(".")[0] != path.partition(".")[0] and home.partition(".")[0] in _ONLY
        if (elsewhere or home in _EXCEPT) and not _is_listed(home):
            return False
    return _is_listed(path)


def _is_listed(path: str) -> bool:
    top, _, rest = path.partition(".")
    if top == "IPython" and rest.startswith("core"):
        return bool(_CORE.fullmatch(path))
    if _PRIVATE.fullmatch(path):
        return True
    parts = rest.split(".") if rest else []
    if any(part.startswith("_") and part not in SPECIAL_ATTRIBUTES for part in parts):
        return False
    if top in _OPEN:
        return not any(path == each or path.startswith(f"{each}.") for each in _EXCEPT)
    known = _ONLY.get(top)
    if known is None or (parts and parts[0] not in known):
        return False
    below = _ONLY.get(f"{top}.{parts[0]}") if parts else None
    return below is None or len(parts) < 2 or parts[1] in below


def is_open(path: str) -> bool:
    """Return whether a dotted path begins with a module whose public names are all ordinary, but for few."""
    return path.partition(".")[0] in _OPEN


def is_setting(path: str) -> bool:
    """Return whether honest notebooks assign to what a dotted path names."""
    found = _SETTINGS.match(path)
    return found is not None and path[found.end() : found.end() + 1] in ("", ".")


def is_hidden(name: str) -> bool:
    """Return whether an attribute leads to frames, code or namespaces, or is special and rare."""
    special = name.startswith("__") and name.endswith("__")
    return name in HIDDEN_ATTRIBUTES or (special and name not in SPECIAL_ATTRIBUTES)


def is_new(path: str) -> bool:
    """Return whether an assignment to a dotted path adds a name, and hides none of the builtins."""
    owner, _, name = path.rpartition(".")
    found = _find(owner)
    return not (found is None or name.startswith("_") or hasattr(builtins, name) or hasattr(found, name))


def is_module(path: str) -> bool:
    """Return whether a dotted path names a module."""
    return isinstance(_find(path), ModuleType)


def _find(path: str) -> object:
    """Return the object that a dotted path names, or None."""
    top, *rest = path.split(".")
    found: object = sys.modules.get(top)
    for part in rest:
        found = _member(found, part)
    return found


def _member(found: object, name: str) -> object:
    """Return an attribute, or None. No code of other packages runs."""
    ours = getattr(found, "__name__", "") == "autograder"  # which imports its modules late
    return getattr(found, name, None) if ours else inspect.getattr_static(found, name, None)
