# %% cure="nan_in_backward"
((torch.zeros(1, requires_grad=True) + 1e-6).sqrt() * 0).sum().backward()

# %% cure="anomaly_without_a_traceback"
y = torch.rand(2, requires_grad=True).exp()
y = y + 1
y.sum().backward()

# %% cure="anomaly_traceback"
y = torch.rand(2, requires_grad=True).exp()
y = y + 1
y.sum().backward()

# %% cure="anomaly_detection_is_on"
searching = False
with torch.autograd.set_detect_anomaly(searching):
    pass
