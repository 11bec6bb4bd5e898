"""Learn the length and the friction of a pendulum from its recorded swing, through every step of the simulation."""

import retrograd as rg

STEPS = 300
DT = 0.01
GRAVITY = 9.81
TRUTH = {"length": 0.8, "friction": 0.3}
GUESS = {"length": 1.0, "friction": 0.1}


def swing(length: rg.Tensor, friction: rg.Tensor) -> rg.Tensor:
    """The angle at every time step, from a start at one radian at rest."""
    angle, speed = rg.tensor(1.0), rg.tensor(0.0)
    angles = []
    for _ in range(STEPS):
        speed = speed - DT * (GRAVITY / length * rg.sin(angle) + friction * speed)
        angle = angle + DT * speed
        angles.append(angle)
    return rg.stack(angles)


def learn(steps: int = 60, rate: float = 0.1) -> dict[str, float]:
    """Descent with the step of each parameter scaled by the size of its recent gradients."""
    recorded = swing(rg.tensor(TRUTH["length"]), rg.tensor(TRUTH["friction"]))
    parameters = {name: rg.tensor(value, requires_grad=True) for name, value in GUESS.items()}
    sizes = {name: rg.tensor(0.0) for name in GUESS}
    for step in range(steps):
        error = ((swing(parameters["length"], parameters["friction"]) - recorded) ** 2).mean()
        error.backward()
        with rg.no_grad():
            for name, parameter in parameters.items():
                assert parameter.grad is not None
                sizes[name] = 0.8 * sizes[name] + 0.2 * parameter.grad**2
                parameter -= rate * (1 - step / steps) * parameter.grad / (sizes[name].sqrt() + 1e-8)
                parameter.grad = None
    return {name: parameter.item() for name, parameter in parameters.items()}


if __name__ == "__main__":
    for name, value in learn().items():
        print(f"{name:8} {value:.3f}   (truth {TRUTH[name]})")
