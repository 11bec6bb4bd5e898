"""Small complete scripts: what people write with autograd, from linear regression to Newton's method."""

from __future__ import annotations

from typing import Any

from .harness import program


@program()
def linear_regression_by_hand(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [2.0, 1.0], [3.0, 0.5], [0.5, 3.0]])
    target = torch.tensor([8.0, 7.0, 7.5, 10.5])
    w = torch.zeros(2, requires_grad=True)
    b = torch.zeros((), requires_grad=True)
    losses = []
    for _ in range(40):
        loss = ((x @ w + b - target) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            w -= 0.05 * w.grad
            b -= 0.05 * b.grad
            w.grad.zero_()
            b.grad.zero_()
    return losses, w, b, w.grad


@program()
def linear_regression_with_grad_none(torch: Any) -> Any:
    x, target = torch.linspace(-1, 1, 9), torch.linspace(-3, 5, 9)
    w = torch.tensor(0.0, requires_grad=True)
    b = torch.tensor(0.0, requires_grad=True)
    for _ in range(50):
        loss = torch.nn.functional.mse_loss(w * x + b, target)
        loss.backward()
        for p in (w, b):
            with torch.no_grad():
                p.sub_(p.grad, alpha=0.3)
            p.grad = None
    return loss, w, b


@program()
def polynomial_fit(torch: Any) -> Any:
    x = torch.linspace(-3.0, 3.0, 20)
    y = torch.sin(x)
    a, b, c, d = (torch.tensor(v, requires_grad=True) for v in (0.1, 0.2, -0.1, 0.05))
    for _ in range(30):
        prediction = a + b * x + c * x**2 + d * x**3
        loss = (prediction - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for p in (a, b, c, d):
                p -= 1e-4 * p.grad
                p.grad = None
    return loss, [p.item() for p in (a, b, c, d)]


@program()
def two_layer_perceptron_learns_xor(torch: Any) -> Any:
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    target = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    w1 = torch.tensor([[1.0, -1.0, 0.5], [1.0, 1.0, -0.5]], requires_grad=True)
    b1 = torch.tensor([-0.5, 0.2, 0.1], requires_grad=True)
    w2 = torch.tensor([[1.0], [-1.0], [0.5]], requires_grad=True)
    b2 = torch.tensor([0.1], requires_grad=True)
    losses = []
    for _ in range(60):
        hidden = torch.tanh(x @ w1 + b1)
        output = torch.sigmoid(hidden @ w2 + b2)
        loss = ((output - target) ** 2).mean()
        for p in (w1, b1, w2, b2):
            p.grad = None
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in (w1, b1, w2, b2):
                p -= 1.0 * p.grad
    return losses, w1.grad, b2.grad


@program()
def relu_network_in_float64(torch: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    x = torch.linspace(-1, 1, 8).reshape(8, 1)
    w1 = torch.tensor([[1.0, -1.0, 0.5, 2.0]], requires_grad=True)
    b1 = torch.tensor([0.1, 0.3, -0.2, 0.05], requires_grad=True)
    w2 = torch.tensor([[0.5], [1.0], [-1.0], [0.25]], requires_grad=True)
    for _ in range(20):
        loss = (torch.relu(x @ w1 + b1) @ w2 - x.abs()).pow(2).mean()
        grads = torch.autograd.grad(loss, (w1, b1, w2))
        with torch.no_grad():
            for p, g in zip((w1, b1, w2), grads, strict=True):
                p -= 0.1 * g
    return loss, w1, b1, w2


@program()
def logistic_regression_with_cross_entropy(torch: Any) -> Any:
    x = torch.tensor([[1.0, 0.2], [0.8, -0.1], [-1.0, 0.4], [-0.7, -0.3], [0.1, 1.5], [-0.1, 1.2]])
    label = torch.tensor([0, 0, 1, 1, 2, 2])
    w = torch.zeros(3, 2, requires_grad=True)
    b = torch.zeros(3, requires_grad=True)
    f = torch.nn.functional
    losses = []
    for _ in range(30):
        loss = f.cross_entropy(f.linear(x, w, b), label)
        losses.append(loss.item())
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= p.grad
                p.grad.zero_()
    accuracy = (f.linear(x, w, b).argmax(dim=1) == label).float().mean()
    return losses, accuracy


@program()
def momentum(torch: Any) -> Any:
    w = torch.tensor([3.0, -2.0], requires_grad=True)
    velocity = torch.zeros_like(w)
    path = []
    for _ in range(15):
        loss = (w * w * torch.tensor([1.0, 4.0])).sum()
        loss.backward()
        velocity = 0.9 * velocity + w.grad
        with torch.no_grad():
            w -= 0.02 * velocity
        w.grad = None
        path.append(w.tolist())
    return path


@program()
def adam_by_hand(torch: Any) -> Any:
    w = torch.tensor([1.0, 2.0, -3.0], requires_grad=True)
    m, v = torch.zeros(3), torch.zeros(3)
    for t in range(1, 11):
        ((w - 1.0) ** 4).sum().backward()
        with torch.no_grad():
            m = 0.9 * m + 0.1 * w.grad
            v = 0.999 * v + 0.001 * w.grad**2
            w -= 0.1 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
            w.grad.zero_()
    return w, m, v


@program()
def newtons_method(torch: Any) -> Any:
    x = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    path = []
    for _ in range(6):
        y = x**4 - 3 * x**3 + 2
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first, x)
        with torch.no_grad():
            x -= first / second
        path.append(x.item())
    return path


@program()
def hessian_by_rows(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    y = (x[0] * x[1] ** 2 + x[2].exp() * x[0]).sin()
    (gradient,) = torch.autograd.grad(y, x, create_graph=True)
    rows = [torch.autograd.grad(g, x, retain_graph=True)[0] for g in gradient]
    return gradient.detach(), torch.stack(rows)


@program()
def hessian_vector_product(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([1.0, -1.0], dtype=torch.float64)
    y = (x**3).sum() * x.prod()
    (gradient,) = torch.autograd.grad(y, x, create_graph=True)
    return torch.autograd.grad((gradient * v).sum(), x)


@program()
def jacobian_by_rows(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.stack([x.sum(), x.prod(), x[0] * x[2]])
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(3)]
    return torch.stack(rows)


@program()
def jacobian_vector_product_by_two_reverse_passes(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([1.0, 0.5], dtype=torch.float64)
    y = torch.stack([x[0] * x[1], x[0].sin(), x[1] ** 2])
    u = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    (vjp,) = torch.autograd.grad(y, x, u, create_graph=True)
    return torch.autograd.grad(vjp, u, v)


@program()
def gradient_penalty(torch: Any) -> Any:
    w = torch.tensor([[0.5, -1.0], [2.0, 0.3]], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=torch.float64, requires_grad=True)
    score = torch.tanh(x @ w).sum(dim=1)
    (gradient,) = torch.autograd.grad(score.sum(), x, create_graph=True)
    penalty = ((gradient.norm(2, dim=1) - 1) ** 2).mean()
    (score.mean() + 10 * penalty).backward()
    return penalty, w.grad


@program()
def hooks_clip_gradients(torch: Any) -> Any:
    w = torch.tensor([1.0, 50.0], requires_grad=True)
    handle = w.register_hook(lambda grad: grad.clamp(-5.0, 5.0))
    (w * w).sum().backward()
    clipped = w.grad.clone()
    handle.remove()
    w.grad = None
    (w * w).sum().backward()
    return clipped, w.grad


@program()
def clipping_by_norm(torch: Any) -> Any:
    params = [torch.tensor([3.0, 4.0], requires_grad=True), torch.tensor([[12.0]], requires_grad=True)]
    sum((p * p).sum() for p in params).backward()
    total = torch.sqrt(sum((p.grad**2).sum() for p in params))
    scale = (1.0 / (total + 1e-6)).clamp(max=1.0)
    for p in params:
        p.grad.mul_(scale)
    return total, [p.grad for p in params]


@program()
def gradient_accumulation_equals_the_full_batch(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    w = torch.tensor([0.5, -0.25], requires_grad=True)
    (x @ w).pow(2).mean().backward()
    full = w.grad.clone()
    w.grad = None
    for part in x.split(2):
        ((part @ w).pow(2).mean() / 2).backward()
    return full, w.grad


@program()
def frozen_and_fine_tuned_parts(torch: Any) -> Any:
    backbone = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    head = torch.tensor([1.0, -1.0], requires_grad=True)
    backbone.requires_grad_(False)
    x = torch.tensor([0.5, 0.25])
    (torch.tanh(x @ backbone) @ head).backward()
    return backbone.grad, head.grad


@program()
def recurrent_network(torch: Any) -> Any:
    w = torch.tensor([[0.5, -0.2], [0.1, 0.3]], requires_grad=True)
    u = torch.tensor([[1.0], [-1.0]], requires_grad=True)
    h = torch.zeros(2)
    loss = torch.zeros(())
    for value in (0.5, -1.0, 2.0, 0.25):
        h = torch.tanh(w @ h + u @ torch.tensor([value]))
        loss = loss + (h**2).sum()
    loss.backward()
    return loss, w.grad, u.grad


@program()
def truncated_backpropagation_through_time(torch: Any) -> Any:
    w = torch.tensor(0.9, requires_grad=True)
    h = torch.tensor(1.0)
    grads = []
    for _ in range(3):
        h = h.detach()
        for _ in range(2):
            h = torch.tanh(h * w)
        h.backward()
        grads.append(w.grad.clone())
    return grads


@program()
def attention_block(torch: Any) -> Any:
    x = torch.tensor([[1.0, 0.5], [0.2, -1.0], [0.7, 0.1]], requires_grad=True)
    wq = torch.tensor([[1.0, 0.0], [0.5, 1.0]], requires_grad=True)
    wk = torch.tensor([[0.3, -1.0], [1.0, 0.2]], requires_grad=True)
    q, k = x @ wq, x @ wk
    weights = torch.softmax(q @ k.transpose(-2, -1) / 2**0.5, dim=-1)
    out = weights @ x
    out.pow(2).sum().backward()
    return weights, out, x.grad, wq.grad, wk.grad


@program()
def layer_norm_by_hand(torch: Any) -> Any:
    x = torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]], requires_grad=True)
    g = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
    y = (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5) * g
    (y * torch.tensor([1.0, -2.0, 3.0])).sum().backward()
    return y, x.grad, g.grad


@program()
def embedding_by_indexing(torch: Any) -> Any:
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    words = torch.tensor([[0, 2], [2, 2]])
    vectors = table[words]
    (vectors.mean(dim=1) ** 2).sum().backward()
    return vectors, table.grad


@program()
def policy_gradient(torch: Any) -> Any:
    logits = torch.tensor([[0.1, 0.5, -0.2], [1.0, 0.0, -1.0]], requires_grad=True)
    actions, rewards = torch.tensor([2, 0]), torch.tensor([1.0, -0.5])
    chosen = torch.log_softmax(logits, dim=1).gather(1, actions.unsqueeze(1)).squeeze(1)
    loss = -(chosen * rewards).sum()
    loss.backward()
    return loss, logits.grad


@program()
def straight_through_estimator(torch: Any) -> Any:
    x = torch.tensor([0.2, 0.7, 1.6], requires_grad=True)
    y = x + (x.round() - x).detach()
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    return y, x.grad


@program()
def differentiating_through_an_inner_optimisation(torch: Any) -> Any:
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    current = w
    for _ in range(3):
        (g,) = torch.autograd.grad(current**4 / 4, current, create_graph=True)
        current = current - rate * g * 0.1
    return torch.autograd.grad(current**2, (rate, w))


@program()
def complex_least_squares(torch: Any) -> Any:
    z = torch.tensor(0.5 + 0.5j, requires_grad=True)
    target = torch.tensor(1.0 - 2.0j)
    path = []
    for _ in range(10):
        loss = (z * z - target).abs() ** 2
        loss.backward()
        with torch.no_grad():
            z -= 0.02 * z.grad
        z.grad = None
        path.append(z.item())
    return path, loss


@program()
def physics_informed_residual(torch: Any) -> Any:
    t = torch.linspace(0, 1, 5, dtype=torch.float64).requires_grad_()
    a = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    u = torch.exp(-a * t) * torch.cos(t)
    (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), t, create_graph=True)
    loss = ((ddu + du + u) ** 2).mean()
    loss.backward()
    return loss, a.grad


@program()
def pendulum_by_euler_steps(torch: Any) -> Any:
    angle = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    length = torch.tensor(1.2, dtype=torch.float64, requires_grad=True)
    q, p = angle, torch.zeros((), dtype=torch.float64)
    for _ in range(100):
        p = p - 0.01 * 9.81 / length * torch.sin(q)
        q = q + 0.01 * p
    q.backward()
    return q, angle.grad, length.grad
