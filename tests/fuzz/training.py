"""The statements of random programs about modules and optimisers: `m3` is a module of two numbers each, `o4` an optimiser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .grow import Grower

nn = "torch.nn."
LAYERS = [
    f"{nn}Linear(2, 3)", f"{nn}Linear(2, 2, bias=False)", f"{nn}Sequential({nn}Linear(2, 4), {nn}Tanh(), {nn}Linear(4, 2))",
    f"{nn}Sequential({nn}Linear(2, 3), {nn}BatchNorm1d(3), {nn}SiLU())", f"{nn}Sequential({nn}Dropout(0.5), {nn}Linear(2, 2))",
    f"{nn}LayerNorm(2)", f"{nn}BatchNorm1d(2, momentum=None)", f"{nn}BatchNorm1d(2, affine=False)", f"{nn}GRUCell(2, 2)",
    f"{nn}BatchNorm1d(2, track_running_stats=False)", f"{nn}RNN(2, 3)", f"{nn}PReLU()", f"{nn}GroupNorm(1, 2)", f"{nn}RMSNorm(2)",
    f"{nn}TransformerEncoderLayer(2, 1, 4, dropout=0.0)", f"{nn}utils.parametrizations.weight_norm({nn}Linear(2, 3))",
    f"{nn}utils.spectral_norm({nn}Linear(2, 3))", f"{nn}utils.weight_norm({nn}Linear(2, 3))", f"{nn}LSTM(2, 2, bidirectional=True)",
    f"{nn}Sequential({nn}Unflatten(1, (1, 2)), {nn}Conv1d(1, 2, 2), {nn}Flatten())", f"{nn}utils.parametrizations.orthogonal({nn}Linear(2, 2))",
    f"{nn}Linear(2, 2, dtype=torch.float64)",
]  # fmt: skip
OPTIMISERS = [
    "SGD({p}, lr=0.1)", "SGD({p}, lr=0.1, momentum=0.9, weight_decay=0.1)", "SGD({p}, lr=0.1, momentum=0.9, nesterov=True)", "SGD({p}, maximize=True)",
    "Adam({p}, lr=0.1, eps=0.1)", "AdamW({p}, lr=0.1, eps=0.1, amsgrad=True)", "Adam({p}, lr=0.1, eps=0.1, foreach=False)", "RMSprop({p}, eps=0.1, centered=True)",
    "Adagrad({p}, eps=0.1)", "Adadelta({p})", "NAdam({p}, eps=0.1)", "RAdam({p}, eps=0.1)", "Adamax({p}, eps=0.1)", "ASGD({p}, lr=0.1)", "SGD({p}, lr=0.1, foreach=True)",
]  # fmt: skip


def module(g: Grower) -> str:
    """A module of PyTorch's, or a class with a parameter and a buffer of its own, and parts that may be shared."""
    n, m = g.count, "m" + g.new()[1:]
    if g.chance(0.6):
        return f"{m} = {g.rng.choice(LAYERS)}"
    share = g.pick("", "", "self.b.weight = self.a.weight", "self.c = self.a", "self.w.requires_grad = False")
    count = g.pick("", "self.n += 1", "self.n = self.n + x.detach().sum()", "self.w.data.mul_(0.5)")
    result = g.pick(
        "self.b(self.a(x).tanh()) * self.w",
        "checkpoint(self.a, x, use_reentrant=False) + self.w",
        "self.a(x) * self.n",
        "x * self.w",
        "(self.a(x), self.w)",
    )
    body = [share, f"self.register_buffer('n', torch.ones(()), persistent={g.pick('True', 'False')})"]
    return "\n".join([
        f"class M{n}({nn}Module):",
        "    def __init__(self):",
        "        super().__init__()",
        f"        self.a, self.b = {nn}Linear(2, 2), {nn}Linear(2, 2)",
        f"        self.w = {nn}Parameter(torch.ones(2))",
        *(f"        {line}" for line in body if line),
        "    def forward(self, x):",
        *([f"        {count}"] if count else []),
        f"        return {result}",
        f"{m} = M{n}()",
    ])  # fmt: skip


def given(g: Grower) -> str:
    """What a module may be called with: rows of two numbers."""
    fits = [n for n, v in g.tensors.items() if v.dim() == 2 and v.shape[1] == 2 and v.is_floating_point()]
    x = g.rng.choice(fits) if fits and g.chance(0.7) else g.tensor("smooth")
    return g.pick("torch.randn(3, 2)", "torch.ones(2, 2)", x, x) if x in fits else g.pick(
        "torch.randn(3, 2)", f"({x}.sum().real.float() + torch.tensor([[0.0, 1.0], [2.0, -3.0], [0.5, 1.5]]))"
    )  # fmt: skip


def call(g: Grower) -> str:
    m, x = g.other("m"), given(g)
    weights = f"{{k: v.detach() * 2 for k, v in {m}.named_parameters()}}"
    return f"{g.new()} = " + g.pick(
        f"{m}({x})", f"{m}({x})", f"{m}({x})", f"{m}({m}({x}))", f"checkpoint({m}, {x}, use_reentrant={g.pick('False', 'True')})",
        f"torch.func.functional_call({m}, {weights}, ({x},))", f"torch.func.vmap({m}, randomness='same')({x}[:, None])",
        f"torch.func.grad(lambda w: torch.func.functional_call({m}, w, ({x},)).sum())({weights})", f"torch.func.jacrev({m})({x})",
        f"torch.nn.utils.parameters_to_vector({m}.parameters())", f"next({m}.parameters())", f"torch.utils.checkpoint.checkpoint_sequential([{m}], 1, {x}, use_reentrant=False)",
        f"torch.autograd.functional.jacobian({m}, {x})", f"torch.func.jvp({m}, ({x},), ({x},))[1]",
    )  # fmt: skip


def module_hook(g: Grower) -> str:
    m, h = g.other("m"), f"h{g.count}"
    part = g.pick(m, m, m, f"list({m}.modules())[-1]")
    return f"{h} = {part}." + g.pick(
        "register_forward_hook(lambda m, a, r: log.append(r))", "register_forward_hook(lambda m, a, r: r * 2 if isinstance(r, torch.Tensor) else None)",
        "register_forward_hook(lambda m, a, k, r: log.append(k), with_kwargs=True, prepend=True)", "register_forward_pre_hook(lambda m, a: log.append(len(a)))",
        "register_forward_pre_hook(lambda m, a: (a[0] * 2, *a[1:]))", "register_full_backward_hook(lambda m, i, o: log.append((i, o)))",
        "register_full_backward_hook(lambda m, i, o: tuple(g * 2 if g is not None else g for g in i))", "register_full_backward_pre_hook(lambda m, o: log.append(o))",
        "register_full_backward_pre_hook(lambda m, o: tuple(g * 2 for g in o))", "register_state_dict_post_hook(lambda m, s, p, l: log.append(list(s)))",
        "register_load_state_dict_post_hook(lambda m, k: log.append(str(k)))", "register_forward_hook(lambda m, a, r: log.append('always'), always_call=True)",
        "register_state_dict_pre_hook(lambda m, p, k: log.append((p, k)))", "register_load_state_dict_pre_hook(lambda m, s, *more: log.append(sorted(s)))",
    )  # fmt: skip


def change_module(g: Grower) -> str:
    """What is done to a module that is there: its mode, dtype, state, parameters."""
    m, other = g.other("m"), g.other("m")
    new = "m" + str(g.count + 1)
    done = g.pick(
        f"{m}.train()", f"{m}.eval()", f"{m}.requires_grad_(False)", f"{m}.requires_grad_()", f"{m}.zero_grad()", f"{m}.zero_grad(set_to_none=False)", f"{m}.double()",
        f"{m}.float()", f"{m}.to(torch.float64)", f"{new} = copy.deepcopy({m})", f"{new} = pickle.loads(pickle.dumps({m}))", f"log.append({m}.load_state_dict({other}.state_dict()))",
        f"{m}.load_state_dict({other}.state_dict(), strict=False)", f"{m}.load_state_dict({other}.state_dict(), assign=True)", f"log.append([n for n, _ in {m}.named_parameters()])",
        f"log.append([n for n, _ in {m}.named_modules()])", f"log.append(str({m}))", f"log.append({m}.state_dict())", f"log.append({nn}utils.clip_grad_norm_({m}.parameters(), 1.0))",
        f"{nn}utils.clip_grad_value_({m}.parameters(), 0.1)", f"{m}.apply(lambda m: log.append(type(m).__name__))", f"{m}.weight = {nn}Parameter(torch.ones(3, 2))",
        f"{nn}init.constant_({m}.weight, 0.5)", f"{nn}utils.parametrize.register_parametrization({m}, 'weight', {nn}Tanh())", f"{nn}utils.parametrize.remove_parametrizations({m}, 'weight')",
        f"{nn}utils.remove_weight_norm({m})", f"{new} = {nn}Sequential({m}, {nn}ReLU())", f"{new} = {nn}ModuleList([{m}, {other}])", f"{m}.extra = {nn}Linear(2, 2)", f"del {m}.bias",
        f"next({m}.parameters()).requires_grad = False", f"next({m}.parameters()).data.mul_(2)", f"next({m}.parameters()).mul_(2)", f"{new} = torch.optim.swa_utils.AveragedModel({m})",
        f"with torch.no_grad():\n    for p in {m}.parameters():\n        p.add_(0.5)", f"log.append({nn}utils.get_total_norm([p for p in {m}.parameters()]))",
        f"{nn}utils.vector_to_parameters(torch.arange(40.0), {m}.parameters())", f"{m}.share_memory()",
        f"{m}.register_parameter('more', {nn}Parameter({g.tensor('smooth')}))", f"{m}.register_buffer('more', {g.tensor()})", f"log.append([p.grad for p in {m}.parameters()])",
    )  # fmt: skip
    if done.startswith(new):
        g.new()
    return done


def optimiser(g: Grower) -> str:
    """A new optimiser, or a step of one that is there."""
    o = g.other("o")
    if o == "None" or g.chance(0.3):
        p = g.pick(
            f"{g.other('m')}.parameters()", f"{g.other('m')}.parameters()", f"[{g.tensor('leaf', 'float')}]"
        )
        if g.chance(0.1):
            p = f"[{{'params': {p}, 'lr': 0.5}}]"
        return f"o{g.new()[1:]} = torch.optim." + g.rng.choice(OPTIMISERS).format(p=p)
    loss = g.pick(f"{g.other('m')}({given(g)}).sum()", f"{g.tensor('grad')}.real.sum()", f"({g.tensor('leaf')} ** 2).abs().sum()")  # fmt: skip
    s = f"s{g.count + 1}"
    done = g.pick(
        f"{o}.zero_grad(); {loss}.backward(); {o}.step()", f"{loss}.backward(); {o}.step()", f"{o}.step()", f"{o}.zero_grad(set_to_none=False)",
        f"log.append({o}.state_dict())", f"{o}.load_state_dict({o}.state_dict())", f"{o}.add_param_group({{'params': [{g.tensor('leaf', 'float')}], 'lr': 0.2}})",
        f"{o}.step(lambda: ({loss}).backward())", f"h{g.count} = {o}.register_step_post_hook(lambda o, a, k: log.append(len(a)))", f"{o} = copy.deepcopy({o})",
        f"{s} = torch.optim.lr_scheduler.StepLR({o}, 1); {o}.step(); {s}.step(); log.append({s}.get_last_lr())", f"log.append(str({o}))",
        f"{o}.param_groups[0]['lr'] = 0.01", f"{s} = torch.optim.lr_scheduler.CosineAnnealingLR({o}, 3); {s}.step(); log.append({s}.state_dict())",
        f"{loss}.backward(create_graph=True); {o}.step()", f"log.append([sorted(s) for s in {o}.state.values()])",
    )  # fmt: skip
    g.count += 1
    return done
