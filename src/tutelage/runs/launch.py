"""Which devices a run gets: by default one accelerator; without one, one device per CPU core.

Nothing here imports JAX before it has to be told how many devices a CPU is.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from .. import config
from ..errors import UserError
from ..machine import cores
from ..settings import Settings
from .processes import ALONE, Group, start

if TYPE_CHECKING:
    from ..envs.base import Domain

AUTO = "auto"
LEVELS_PER_CORE = 8
"""Levels of a batch that a CPU's device should have at least, when nobody says how many devices there are to be."""


class Policy(Enum):
    """How many devices, where nobody gives a number."""

    DEFAULT = "one accelerator; without one, one device per CPU core"
    ALL = "as many as there are and can share the batch"
    SETTINGS = "as many as the settings say"


@dataclass(frozen=True)
class DeviceRequest:
    """What was asked for."""

    devices: int | Policy = Policy.DEFAULT
    """Of all processes together."""
    group: Group = ALONE


@dataclass(frozen=True)
class Launch:
    """A run whose devices are there: JAX has started."""

    settings: Settings
    """With the number of devices."""
    domain: Domain | None = None
    """The environment, where the choice of devices depended on it, so that nobody has to build it again."""


def launch(settings: Settings, request: DeviceRequest) -> Launch:
    """Start JAX on the devices that were asked for."""
    devices = request.devices
    if devices is Policy.DEFAULT and request.group != ALONE:
        devices = Policy.SETTINGS  # processes have to agree, and each knows its own cores only
    if devices is Policy.DEFAULT or devices is Policy.ALL:
        return _launch_on_all(settings, request.group, cpu_only=devices is Policy.DEFAULT)
    if isinstance(devices, int):
        settings = config.override(settings, {"train.devices": str(devices)})
    start_jax(request.group, settings.train.devices)
    return Launch(settings)


def _launch_on_all(settings: Settings, group: Group, cpu_only: bool) -> Launch:
    """Every device that can have a share of the batch. A CPU has one for each core."""
    start_jax(group, len(cores()) * group.processes)
    import jax

    is_cpu = jax.default_backend() == "cpu"
    if cpu_only and not is_cpu:
        return Launch(settings)
    from ..experiment import build_domain
    from ..hosts.environment import HostEnvironment

    domain = build_domain(settings)
    if isinstance(domain.env, HostEnvironment):
        return Launch(settings, domain)  # its simulators use the cores
    return Launch(shared_out(settings, jax.device_count(), LEVELS_PER_CORE if is_cpu else 1), domain)


def shared_out(settings: Settings, devices: int, fewest: int) -> Settings:
    """The settings with as many of some devices as can share the batch, at least ``fewest`` levels each."""
    for number in range(min(devices, settings.train.levels // fewest), 1, -1):
        with suppress(UserError):  # the batch cannot be shared by so many
            return config.override(settings, {"train.devices": str(number)})
    return config.override(settings, {"train.devices": "1"})


def start_jax(group: Group = ALONE, devices: int = 1) -> None:
    """Make JAX ready for some devices of all processes together, with the programs that were compiled before."""
    from .cache import keep_compiled_programs

    keep_compiled_programs()
    start(group, devices)
