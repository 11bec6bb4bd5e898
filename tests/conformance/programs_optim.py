"""Optimisers: groups, closures, hooks, state dicts, copies, and steps one can differentiate through."""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import pickle
from collections import OrderedDict
from typing import Any

from .harness import program


def moved(torch: Any, value: float = 1.0, grad: float = 1.0) -> Any:
    """A parameter of two numbers, with a gradient."""
    param = torch.full((2,), value, requires_grad=True)
    param.grad = torch.full((2,), grad)
    return param


@program()
def defaults_and_text_of_each_optimiser(torch: Any) -> Any:
    p = moved(torch)
    made = [
        torch.optim.SGD([p]),
        torch.optim.Adam([p]),
        torch.optim.AdamW([p]),
        torch.optim.SGD([p], 0.5, 0.9),
    ]
    return [(repr(o), o.defaults, o.param_groups, len(o.state)) for o in made]


@program()
def groups_have_options_of_their_own(torch: Any) -> Any:
    a, b, c = moved(torch), moved(torch, 2.0), moved(torch, 3.0)
    o = torch.optim.SGD([{"params": a}, {"params": [b], "lr": 0.5, "mine": 3}], lr=0.1, momentum=0.9)
    o.add_param_group({"params": c, "weight_decay": 0.1})
    o.step()
    return a, b, c, repr(o), o.state_dict()


@program()
def the_group_given_is_the_group_kept(torch: Any) -> Any:
    group = {"params": moved(torch)}
    o = torch.optim.SGD([group], lr=0.1)
    return o.param_groups[0] is group, list(group), len(group["params"])


@program()
def a_changed_learning_rate_counts_at_once(torch: Any) -> Any:
    p = moved(torch)
    o = torch.optim.SGD([p], lr=0.1)
    o.param_groups[0]["lr"] = 5
    o.step()
    return p, o.defaults["lr"]


@program()
def parameters_from_a_generator_and_with_names(torch: Any) -> Any:
    o = torch.optim.SGD((moved(torch) for _ in range(2)), lr=0.1)
    named = torch.optim.Adam([("a", moved(torch)), ("b", moved(torch))])
    named.step()
    return len(o.param_groups[0]["params"]), repr(named), named.state_dict()


@program()
def names_travel_with_state_dicts(torch: Any) -> Any:
    named = torch.optim.SGD([("a", moved(torch))], lr=0.1)
    plain = torch.optim.SGD([moved(torch)], lr=0.1)
    other = torch.optim.SGD([("z", moved(torch))], lr=0.3)
    plain.load_state_dict(named.state_dict())
    other.load_state_dict(torch.optim.SGD([moved(torch)], lr=0.7).state_dict())
    return plain.state_dict(), other.state_dict()


@program()
def a_step_calls_its_closure_with_grad_on(torch: Any) -> Any:
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    o, seen = torch.optim.SGD([x], lr=0.1), []

    def closure() -> Any:
        seen.append(torch.is_grad_enabled())
        o.zero_grad()
        loss = (x * x).sum()
        loss.backward()
        return loss

    with torch.no_grad():
        returned = o.step(closure)
        seen.append(torch.is_grad_enabled())
    return returned, x, seen, o.step(), torch.is_grad_enabled()


@program()
def grad_mode_survives_a_closure_that_raises(torch: Any) -> Any:
    o = torch.optim.Adam([moved(torch)])
    with contextlib.suppress(ZeroDivisionError):
        o.step(lambda: 1 / 0)
    return torch.is_grad_enabled()


@program()
def parameters_without_gradients_stay(torch: Any) -> Any:
    a, b = moved(torch), torch.ones(2, requires_grad=True)
    made = []
    for name in ("SGD", "Adam", "AdamW"):
        o = getattr(torch.optim, name)([a, b], lr=0.1)
        o.step()
        made.append(o.state_dict())
    return a, b, made


@program()
def frozen_parameters_are_taken_and_left_alone(torch: Any) -> Any:
    p = torch.ones(2)
    o = torch.optim.Adam([p])
    o.step()
    return p, o.state_dict()


@program()
def zero_grad_forgets_or_fills(torch: Any) -> Any:
    p = moved(torch)
    o = torch.optim.SGD([p], lr=0.1)
    kept = p.grad
    o.zero_grad(set_to_none=False)
    same = p.grad is kept
    filled = p.grad.clone()
    o.zero_grad()
    return same, filled, p.grad, kept


@program()
def zero_grad_cuts_gradients_that_have_history(torch: Any) -> Any:
    x = torch.ones(2, requires_grad=True)
    (x.grad,) = torch.autograd.grad((x * x).sum(), x, create_graph=True)
    o = torch.optim.SGD([x], lr=0.1)
    o.zero_grad(set_to_none=False)
    return x.grad


@program()
def hooks_around_a_step(torch: Any) -> Any:
    o, log = torch.optim.SGD([moved(torch)], lr=0.1), []
    pre = o.register_step_pre_hook(lambda o, args, kwargs: log.append(("pre", len(args), sorted(kwargs))))
    o.register_step_post_hook(lambda o, args, kwargs: log.append(("post", args[0] is o, sorted(kwargs))))
    o.step()
    o.step(closure=None)
    o.step(None)
    pre.remove()
    o.step()
    return log


@program()
def a_hook_replaces_the_arguments_of_a_step(torch: Any) -> Any:
    o = torch.optim.SGD([moved(torch)], lr=0.1)
    o.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 17}))
    o.register_step_post_hook(lambda o, args, kwargs: "ignored")
    return o.step()


@program()
def hooks_of_all_optimisers_are_the_outer_ones(torch: Any) -> Any:
    module = __import__(f"{torch.__name__}.optim.optimizer", fromlist=["optimizer"])
    o, log = torch.optim.SGD([moved(torch)], lr=0.1), []
    handles = [
        module.register_optimizer_step_pre_hook(lambda o, args, kwargs: log.append("all, pre")),
        module.register_optimizer_step_post_hook(lambda o, args, kwargs: log.append("all, post")),
    ]
    o.register_step_pre_hook(lambda o, args, kwargs: log.append("pre"))
    o.register_step_post_hook(lambda o, args, kwargs: log.append("post"))
    o.step()
    for handle in handles:
        handle.remove()
    o.step()
    return log


@program()
def hooks_around_state_dicts(torch: Any) -> Any:
    o, log = torch.optim.SGD([moved(torch)], lr=0.1, momentum=0.9), []
    o.step()
    o.register_state_dict_pre_hook(lambda o: log.append("pre"))
    o.register_state_dict_post_hook(lambda o, saved: log.append("post"))
    o.register_state_dict_post_hook(lambda o, saved: log.append("first"), prepend=True)
    o.register_state_dict_post_hook(lambda o, saved: {"inner": saved})
    saved = o.state_dict()
    o.register_load_state_dict_pre_hook(lambda o, saved: log.append(sorted(saved)))
    o.register_load_state_dict_pre_hook(lambda o, saved: saved["inner"])
    o.register_load_state_dict_post_hook(lambda o: log.append("loaded"))
    o.load_state_dict(saved)
    return log, saved


@program()
def an_optimiser_of_ones_own(torch: Any) -> Any:
    class Signs(torch.optim.Optimizer):  # type: ignore[misc]
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["steps"] = self.state[p].get("steps", 0) + 1
                    p.data.sub_(group["lr"] * p.grad.sign())

    p, log = moved(torch, 1.0, -3.0), []
    o = Signs([p], 0.5)
    o.register_step_pre_hook(lambda *args: log.append("pre"))
    o.step()
    o.step()
    return p, log, repr(o), o.state_dict()


@program()
def training_goes_on_from_a_state_dict(torch: Any) -> Any:
    results = []
    for name in ("SGD", "Adam", "AdamW"):
        options = {"lr": 0.1, "momentum": 0.9} if name == "SGD" else {"lr": 0.1, "amsgrad": True}
        p, q = (torch.tensor([1.0, -2.0], requires_grad=True) for _ in range(2))
        first, second = (getattr(torch.optim, name)([x], **options) for x in (p, q))
        for k in range(6):
            if k == 3:
                q.data.copy_(p.data)
                second.load_state_dict(copy.deepcopy(first.state_dict()))
            for x, o in ((p, first), (q, second)):
                x.grad = x.detach() * 2
                o.step()
        results.append((p, q, second.state_dict()))
    return results


@program()
def a_state_dict_shares_its_tensors(torch: Any) -> Any:
    p, q = moved(torch), moved(torch)
    o, other = torch.optim.SGD([p], lr=0.1, momentum=0.9), torch.optim.SGD([q], lr=0.1, momentum=0.9)
    o.step()
    saved = o.state_dict()
    other.load_state_dict(saved)
    return (
        saved["state"][0] is o.state[p],
        other.state[q]["momentum_buffer"] is o.state[p]["momentum_buffer"],
        other.param_groups[0] is saved["param_groups"][0],
        list(saved["param_groups"][0])[-1],
    )


@program()
def what_is_loaded_takes_the_dtype_of_its_parameter(torch: Any) -> Any:
    p = torch.ones(2, dtype=torch.float64, requires_grad=True)
    o = torch.optim.Adam([p])
    state = {
        0: {"exp_avg": torch.ones(2), "step": torch.tensor(3.0), "more": [torch.tensor(1), 5]},
        7: {"unknown": 1},
        "text": 3,
    }
    o.load_state_dict({"state": state, "param_groups": [{"params": [0], "lr": 5, "mine": 1}]})
    kept = o.state[p]
    return kept["exp_avg"], kept["step"], kept["more"], o.state[7], o.state["text"], o.param_groups


@program()
def pickled_and_copied(torch: Any) -> Any:
    p = moved(torch)
    o = torch.optim.Adam([p], lr=0.1)
    o.step()
    made = pickle.loads(pickle.dumps(o)), copy.deepcopy(o)
    for other in made:
        q = other.param_groups[0]["params"][0]
        q.grad = torch.ones(2)
        other.step()
    return [m.state_dict() for m in made], p, sorted(o.__getstate__())


@program()
def a_state_dict_saved_and_loaded(torch: Any) -> Any:
    p = moved(torch)
    o = torch.optim.AdamW([p], lr=0.1)
    o.step()
    file = io.BytesIO()
    torch.save(o.state_dict(), file)
    file.seek(0)
    q = moved(torch)
    other = torch.optim.AdamW([q])
    other.load_state_dict(torch.load(file))
    other.step()
    return q, other.state_dict()


@program()
def old_state_dicts_get_what_they_lack(torch: Any) -> Any:
    p = moved(torch)
    made = [torch.optim.SGD([p]), torch.optim.Adam([p]), torch.optim.AdamW([p])]
    for o in made:
        o.load_state_dict({"state": {}, "param_groups": [{"params": [0], "lr": 0.5}]})
    return [{key: group[key] for key in sorted(group)} for o in made for group in o.param_groups]


@program()
def counts_of_steps_follow_the_default_dtype(torch: Any) -> Any:
    torch.set_default_dtype(torch.float64)
    p = moved(torch)
    o = torch.optim.Adam([p])
    o.step()
    return o.state_dict()["state"]


@program()
def a_step_is_a_write_in_place(torch: Any) -> Any:
    versions = []
    for o_of in (lambda p: torch.optim.SGD([p], lr=0.1, momentum=0.9), lambda p: torch.optim.Adam([p])):
        p = moved(torch)
        before = p._version
        o_of(p).step()
        versions.append((p._version - before, p.grad._version, p.is_leaf, p.requires_grad))
    return versions


@program(phrase="modified by an inplace operation.*is at version 1; expected version 0")
def a_step_between_forward_and_backward_is_noticed(torch: Any) -> Any:
    p = moved(torch)
    loss = (p * p).sum()
    torch.optim.Adam([p]).step()
    loss.backward()


@program()
def learning_rates_and_betas_can_be_tensors(torch: Any) -> Any:
    p, q, r = moved(torch), moved(torch), moved(torch)
    torch.optim.SGD([p], lr=torch.tensor(0.5)).step()
    adam = torch.optim.Adam([q], lr=torch.tensor([0.5], requires_grad=True))
    adam.step()
    betas = torch.optim.Adam([r], betas=(torch.tensor(0.9), torch.tensor(0.99)))
    betas.step()
    return p, q, r, adam.state_dict(), repr(betas)


@program()
def through_a_step_of_gradient_descent(torch: Any) -> Any:
    x, lr = torch.ones(2, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    w = x * 1.0
    w.retain_grad()
    o = torch.optim.SGD([w], lr=lr, differentiable=True)
    w.grad = torch.ones(2)
    o.step()
    (w * w).sum().backward()
    return x.grad, lr.grad, w


@program()
def through_two_steps_with_momentum(torch: Any) -> Any:
    x, decay = torch.ones(2, requires_grad=True), torch.tensor(0.1, requires_grad=True)
    w = x * 1.0
    w.retain_grad()
    w.grad = x * 3
    options = {"momentum": 0.9, "nesterov": True, "maximize": True, "weight_decay": decay}
    o = torch.optim.SGD([w], lr=0.1, differentiable=True, **options)
    o.step()
    o.step()
    w.sum().backward()
    return x.grad, decay.grad, w


@program()
def through_a_step_of_adam(torch: Any) -> Any:
    results = []
    for name in ("Adam", "AdamW"):
        x, lr = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.1, requires_grad=True)
        w = x * 1.0
        w.retain_grad()
        w.grad = x * x
        options = {"weight_decay": 0.1, "eps": 0.5, "differentiable": True}
        o = getattr(torch.optim, name)([w], lr=lr, **options)
        o.step()
        (w * w).sum().backward()
        results.append((x.grad, lr.grad, w.detach(), w.grad_fn.name()))
    return results


@program()
def what_is_kept_of_steps_in_its_order(torch: Any) -> Any:
    kept = {}
    for name in ("ASGD", "NAdam", "RAdam", "Rprop", "Adagrad", "Adadelta", "Adamax", "RMSprop", "Adam"):
        o = getattr(torch.optim, name)([moved(torch)])
        o.step()
        kept[name] = [list(state) for state in o.state.values()]
    return kept


@program()
def a_wrapper_that_makes_its_own_tables_of_hooks(torch: Any) -> Any:
    """Some that people have written call no `__init__` of Optimizer, and know its tables by name."""

    class Wrapper(torch.optim.Optimizer):
        def __init__(self, inner: Any) -> None:
            for when in ("step_pre", "step_post", "state_dict_pre", "state_dict_post"):
                setattr(self, f"_optimizer_{when}_hooks", OrderedDict())
            for when in ("pre", "post"):
                setattr(self, f"_optimizer_load_state_dict_{when}_hooks", OrderedDict())
            self.inner, self.defaults = inner, inner.defaults
            self.param_groups, self.state = inner.param_groups, inner.state

        def step(self, closure: Any = None) -> Any:
            return self.inner.step(closure)

    p, seen = moved(torch), []
    o = Wrapper(torch.optim.SGD([p], 0.5, 0.9))
    o._optimizer_step_pre_hooks[0] = lambda *args: seen.append("before")
    o.register_step_post_hook(lambda *args: seen.append("after"))
    o.step()
    o.load_state_dict(o.state_dict())
    return seen, p, o.state_dict()


@program(warns="Use _accelerator_graph_capture_health_check")
def an_object_that_wraps_an_optimiser(torch: Any) -> Any:
    seen: list[Any] = []

    class Slower(torch.optim.Optimizer):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            self._optimizer_step_pre_hooks: dict[int, Any] = {0: lambda *_: seen.append("before")}
            self._optimizer_step_post_hooks: dict[int, Any] = {0: lambda *_: seen.append("after")}
            self._patch_step_function()
            self.inner, self.defaults = inner, inner.defaults

        @property
        def param_groups(self) -> Any:
            return self.inner.param_groups

        def step(self, closure: Any = None) -> Any:
            self._cuda_graph_capture_health_check()
            self._accelerator_graph_capture_health_check()
            seen.append("step")
            return self.inner.step(closure)

    x = torch.tensor([1.0], requires_grad=True)
    optimizer = Slower(torch.optim.SGD([x], lr=0.5))
    x.square().sum().backward()
    optimizer.step()
    return x, seen


@program()
def a_step_that_a_class_gets_later_has_hooks(torch: Any) -> Any:
    seen: list[Any] = []
    still = type("Still", (torch.optim.Optimizer,), {})
    still.step = torch.optim.Optimizer.profile_hook_step(lambda self: seen.append("step"))  # type: ignore[attr-defined]
    optimizer = still([torch.ones(1)], {})
    optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    optimizer.step()
    return seen[0], seen[-1], seen.count("step")


@program()
def the_search_of_lbfgs_by_its_own_name(torch: Any) -> Any:
    """Optimisers of other packages call it."""

    def look(x: Any, t: float, d: Any) -> Any:
        at = (x + t * d).requires_grad_()
        loss = ((at - 1) ** 2).sum() + (at**4).sum()
        (grad,) = torch.autograd.grad(loss, at)
        return loss.item(), grad

    x = torch.tensor([2.0, -1.0], dtype=torch.float64)
    loss, grad = look(x, 0.0, x)
    found = []
    for more in ({}, {"c2": 0.1}, {"max_ls": 2}, {"c1": 0.5, "tolerance_change": 1e-3}):
        search = importlib.import_module(f"{torch.__name__}.optim.lbfgs")._strong_wolfe
        new, slope, step, calls = search(look, x, 1.0, -grad, loss, grad, grad.dot(-grad), **more)
        found.append((round(new, 6), slope, round(float(step), 6), calls))
    return found
