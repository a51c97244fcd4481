# %% cure="unscaled_twice"
w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
optimizer = torch.optim.SGD([w], lr=0.1)
scaler.scale(w.sum()).backward()
scaler.unscale_(optimizer)
scaler.step(optimizer)
scaler.update()

# %% cure="scaler_out_of_order"
w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
optimizer = torch.optim.SGD([w], lr=0.1)
scaler.scale(w.sum()).backward()
scaler.step(optimizer)
scaler.update()

# %% cure="scaler_without_gradients"
w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
scaler.scale(w.sum()).backward()
scaler.step(torch.optim.SGD([w], lr=0.1))

# %% cure="update_without_step"
w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
optimizer = torch.optim.SGD([w], lr=0.1)
scaler.scale(w.sum()).backward()
scaler.step(optimizer)
scaler.update()

# %% cure="loss_not_scaled"
w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
scaler.scale(w.sum()).backward()
scaler.step(torch.optim.SGD([w], lr=0.1))

# %% cure="number_scaled"
torch.amp.GradScaler("cpu").scale(torch.tensor(1.0))

# %% cure="scaler_with_a_closure"
w, scaler = torch.rand(2, requires_grad=True), torch.amp.GradScaler("cpu")
optimizer = torch.optim.SGD([w], lr=0.1)
scaler.scale(w.sum()).backward()
scaler.step(optimizer)

# %% cure="half_weights"
w, scaler = torch.rand(2).requires_grad_(), torch.amp.GradScaler("cpu")
scaler.scale(w.sum()).backward()
scaler.unscale_(torch.optim.SGD([w], lr=0.1))

# %% cure="scaler_without_a_gpu"
torch.amp.GradScaler("cpu")

# %% cure="old_name_of_the_scaler"
torch.amp.GradScaler("cuda" if torch.cuda.is_available() else "cpu")

# %% cure="autocast_without_a_gpu"
with torch.autocast("cpu", dtype=torch.bfloat16):
    pass

# %% cure="autocast_dtype"
with torch.autocast("cpu", dtype=torch.bfloat16):
    pass
