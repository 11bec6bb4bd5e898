"""What optimisers refuse."""

from __future__ import annotations

from typing import Any

from .harness import attempt, program


def param(torch: Any, grad: bool = True) -> Any:
    """A parameter of two numbers, with a gradient if wanted."""
    made = torch.ones(2, requires_grad=True)
    made.grad = torch.ones(2) if grad else None
    return made


@program()
def numbers_out_of_range(torch: Any) -> Any:
    sgd, adam, adamw, p = torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, [param(torch)]
    return [
        attempt("Invalid learning rate: -1", sgd, p, lr=-1),
        attempt("Invalid momentum value: -1", sgd, p, momentum=-1),
        attempt("Invalid weight_decay value: -0.5", sgd, p, weight_decay=-0.5),
        attempt("Invalid learning rate: -0.1", adam, p, lr=-0.1),
        attempt("Invalid epsilon value: -1", adam, p, eps=-1),
        attempt("Invalid beta parameter at index 0: 1.0", adam, p, betas=(1.0, 0.9)),
        attempt("Invalid beta parameter at index 1: -0.9", adamw, p, betas=(0.9, -0.9)),
        attempt("Invalid weight_decay value: -1", adamw, p, weight_decay=-1),
        attempt("", adam, p, betas=(0.9,)),
        attempt("not subscriptable", adam, p, betas=3),
        attempt("not supported between instances of 'str' and 'float'", sgd, p, lr="fast"),
        attempt("unexpected keyword argument 'nestrov'", sgd, p, nestrov=True),
    ]


@program()
def options_that_contradict_each_other(torch: Any) -> Any:
    sgd, adam, p = torch.optim.SGD, torch.optim.Adam, [param(torch)]
    two = torch.tensor([0.1, 0.2])
    one = torch.tensor(0.9)
    return [
        attempt("Nesterov momentum requires a momentum and zero dampening", sgd, p, nesterov=True),
        attempt("Nesterov", sgd, p, nesterov=True, momentum=0.9, dampening=0.1),
        attempt("`fused` and `foreach` cannot be `True` together", sgd, p, fused=True, foreach=True),
        attempt("`fused` does not support `differentiable`", sgd, p, fused=True, differentiable=True),
        attempt("`fused` and `foreach` cannot be `True` together", adam, p, fused=True, foreach=True),
        attempt("`fused` does not support `differentiable`", adam, p, fused=True, differentiable=True),
        attempt(
            "lr as a Tensor is not supported for capturable=False and foreach=True",
            adam,
            p,
            one,
            foreach=True,
        ),
        attempt("Tensor lr must be 1-element", sgd, p, lr=two),
        attempt("Tensor lr must be 1-element", adam, p, lr=two),
        attempt("betas must be either both floats or both Tensors", adam, p, betas=(one, 0.9)),
        attempt("as a Tensor is not supported", adam, p, betas=(one, one), foreach=True),
        attempt("more than one value is ambiguous", adam, p, betas=(one, two)),
    ]


@program()
def what_is_no_list_of_parameters(torch: Any) -> Any:
    sgd, p = torch.optim.SGD, param(torch)
    return [
        attempt("optimizer got an empty parameter list", sgd, []),
        attempt("params argument given to the optimizer should be an iterable of Tensors or dicts", sgd, p),
        attempt("organized in ordered collections", sgd, [{"params": {p}}]),
        attempt("optimizer can only optimize Tensors, but one of the params is str", sgd, {"params": [p]}),
        attempt("'int' object is not iterable", sgd, 3),
        attempt("one of the params is float", sgd, [1.0]),
        attempt("can't optimize a non-leaf Tensor", sgd, [p * 2]),
        attempt("params", sgd, [{"lr": 1}]),
        attempt("param_group must be a dict", sgd, [{"params": p}, param(torch)]),
        attempt("one of the params is dict", sgd, [p, {"params": param(torch)}]),
        attempt("NoneType", sgd([p]).add_param_group, {"params": None}),
        attempt("param_group must be a dict", sgd([p]).add_param_group, [p]),
    ]


@program()
def parameters_that_come_twice(torch: Any) -> Any:
    p = param(torch)
    return attempt(
        "some parameters appear in more than one parameter group", torch.optim.SGD, [{"params": p}] * 2
    )


@program(warns="duplicate parameters")
def parameters_that_come_twice_in_one_group(torch: Any) -> Any:
    p = param(torch)
    o = torch.optim.SGD([p, p], lr=0.1)
    o.step()
    o.add_param_group({"params": param(torch)})
    return p, [group["params"] for group in o.state_dict()["param_groups"]]


@program()
def names_for_all_or_for_none(torch: Any) -> Any:
    sgd, p, q = torch.optim.SGD, param(torch), param(torch)
    return [
        attempt("Some param names are missing", sgd, [("a", p), q]),
        attempt("cannot add param group without names", sgd, [{"params": [("a", p)]}, {"params": [q]}]),
        attempt("cannot add param group with names", sgd, [{"params": [p]}, {"params": [("a", q)]}]),
        attempt("one of the params is str", sgd, [(p, "a")]),
    ]


@program()
def a_group_refused_leaves_no_trace(torch: Any) -> Any:
    p = param(torch)
    o = torch.optim.SGD([p], lr=0.1)
    attempt("", o.add_param_group, {"params": [p * 2]})
    attempt("", o.add_param_group, {"params": [p]})
    return len(o.param_groups), len(o.param_groups[0]["params"])


@program()
def state_dicts_that_do_not_fit(torch: Any) -> Any:
    o = torch.optim.SGD([param(torch)], lr=0.1)
    load = o.load_state_dict
    fits = {"state": {}, "param_groups": [{"params": [0, 1]}]}
    return [
        attempt("different number of parameter groups", load, {"state": {}, "param_groups": []}),
        attempt("doesn't match the size of optimizer's group", load, fits),
        attempt("param_groups", load, {}),
        o.state_dict(),
    ]


@program()
def required_options_and_missing_steps(torch: Any) -> Any:
    module = __import__(f"{torch.__name__}.optim.optimizer", fromlist=["optimizer"])
    base, p = torch.optim.Optimizer, param(torch)
    return [
        attempt(
            "didn't specify a value of required optimization parameter lr", base, [p], {"lr": module.required}
        ),
        attempt("", base([p], {"lr": 1}).step),
        repr(base([{"params": p, "lr": 2}], {"lr": module.required})),
        repr(module.required),
    ]


@program()
def steps_that_cannot_be_made(torch: Any) -> Any:
    p, leaf, toggled = param(torch), param(torch), param(torch)
    adam = torch.optim.Adam([p])
    adam.step()
    adam.state[p]["step"] = 7
    late = torch.optim.Adam([toggled])
    late.step()
    late.param_groups[0]["amsgrad"] = True
    spread = torch.ones(1).expand(3).requires_grad_()
    spread.grad = torch.ones(3)
    return [
        attempt("must contain a list of singleton tensors", adam.step),
        attempt("If capturable=True", torch.optim.Adam([param(torch)], capturable=True).step),
        attempt("a leaf Variable that requires grad", torch.optim.SGD([leaf], differentiable=True).step),
        attempt("max_exp_avg_sq", late.step),
        attempt("single memory location", torch.optim.SGD([spread], lr=0.1).step),
    ]


@program()
def state_made_in_inference_mode(torch: Any) -> Any:
    p = param(torch)
    o = torch.optim.Adam([p])
    with torch.inference_mode():
        o.step()
    return p, attempt("Inplace update to inference tensor outside InferenceMode", o.step)


@program(phrase="must return None or a tuple of")
def a_hook_before_the_step_returns_something_else(torch: Any) -> Any:
    o = torch.optim.SGD([param(torch)], lr=0.1)
    o.register_step_pre_hook(lambda o, args, kwargs: 3)
    o.step()
