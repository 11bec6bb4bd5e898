"""A gradient, a second derivative, and a gradient through array assignment."""

import retrograd as rg


def gradient() -> float:
    """d/dx of x² sin x at x = 2, by `backward()`."""
    x = rg.tensor(2.0, requires_grad=True)
    y = x**2 * rg.sin(x)
    y.backward()
    assert x.grad is not None
    return x.grad.item()


def second_derivative() -> float:
    """d²/dx² of x⁴ at x = 3: a gradient that was recorded itself can be differentiated again."""
    x = rg.tensor(3.0, requires_grad=True)
    (slope,) = rg.autograd.grad(x**4, x, create_graph=True)
    (bend,) = rg.autograd.grad(slope, x)
    return bend.item()


def through_assignment() -> list[float]:
    """Values written into an array keep their history: here each one adds half of the one before it."""
    x = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    echo = rg.zeros(3)
    echo[0] = x[0]
    for i in range(1, 3):
        echo[i] = 0.5 * echo[i - 1] + x[i]
    echo.sum().backward()
    assert x.grad is not None
    return [float(g) for g in x.grad.numpy()]


if __name__ == "__main__":
    print(f"d/dx x² sin x at 2:           {gradient():.4f}")
    print(f"d²/dx² x⁴ at 3:               {second_derivative():.1f}")
    print(f"gradient through assignment:  {through_assignment()}")
