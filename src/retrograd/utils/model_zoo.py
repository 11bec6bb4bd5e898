"""`torch.utils.model_zoo`: the old place of `hub.load_state_dict_from_url`."""

from retrograd.lazy import lazily as _lazily

__getattr__, __dir__ = _lazily(__name__, {"retrograd.hub": "load_url=load_state_dict_from_url"})
