import torch

w = torch.rand(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=1.0)
scaler = torch.amp.GradScaler("cpu")
scaler.scale(w.sum()).backward()
scaler.step(optimizer)
scaler.step(optimizer)
