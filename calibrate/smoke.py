#!/usr/bin/env python3
"""Ten seconds on a GPU, independent of Orrery's own kernels: is this machine worth a calibration?

    python3 calibrate/smoke.py

Prints how long NVML takes to answer, and how clock, power and rate settle while PyTorch multiplies
and copies. docs/calibration.md, "One visit", says what to look for. Needs PyTorch; NVML's part
needs pynvml, which comes with it. Without PyTorch or a GPU: one sentence on standard error and
exit code 5.
"""

import sys
import time

EXIT_DEVICE = 5
EDGE = 8192  # of the product
COPIED = 1 << 31  # bytes
POWER_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT, mW
PRODUCT_SECONDS, COPY_SECONDS = 5.0, 2.5
PERIOD = 0.25  # s, of one line


def median(values):
    return sorted(values)[len(values) // 2]


class Meter:
    """What NVML says of the first GPU; silent where it is not there."""

    def __init__(self):
        self.asks = {}
        try:
            import pynvml as nvml

            nvml.nvmlInit()
            gpu = nvml.nvmlDeviceGetHandleByIndex(0)
        except Exception as problem:
            print(f"no NVML: {problem}")
            return

        def instant():
            value = nvml.nvmlDeviceGetFieldValues(gpu, [POWER_INSTANT])[0]
            return value.value.uiVal / 1e3 if value.nvmlReturn == 0 else float("nan")

        print("driver", nvml.nvmlSystemGetDriverVersion())
        print(f"limit {nvml.nvmlDeviceGetEnforcedPowerLimit(gpu) / 1e3:.0f} W")
        print(f"most {nvml.nvmlDeviceGetMaxClockInfo(gpu, nvml.NVML_CLOCK_SM)} MHz")
        self.asks = {
            "SM MHz": lambda: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_SM),
            "memory MHz": lambda: nvml.nvmlDeviceGetClockInfo(gpu, nvml.NVML_CLOCK_MEM),
            "W now": instant,
            "W over 1 s": lambda: nvml.nvmlDeviceGetPowerUsage(gpu) / 1e3,
            "J": lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1e3,
            "deg C": lambda: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU),
            "reasons": lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(gpu),
        }

    def print_latencies(self):
        for name, ask in self.asks.items():
            times = []
            for _ in range(30):
                begin = time.perf_counter()
                ask()
                times.append((time.perf_counter() - begin) * 1e3)
            print(f"NVML {name:10s}  median {median(times):7.3f} ms  worst {max(times):7.3f} ms")

    def line(self):
        shown = ("SM MHz", "W now", "W over 1 s", "reasons")
        return "  ".join(f"{name} {self.asks[name]():.0f}" for name in shown if self.asks)


def load(torch, meter, name, call, unit, seconds):
    """Calls for so long, a line of `unit` per second and the meter's state for each period."""
    print(name)
    begin = last = time.perf_counter()
    while last - begin < seconds:
        count, since = 0, time.perf_counter()
        while time.perf_counter() - since < PERIOD:
            for _ in range(4):
                call()
            torch.cuda.synchronize()
            count += 4
        last = time.perf_counter()
        rate = unit * count / (last - since)
        print(f"  {last - begin:5.2f} s  {rate:8.1f}  {meter.line()}", flush=True)


def main():
    try:
        import torch
    except ImportError:
        print("smoke: PyTorch is not installed", file=sys.stderr)
        return EXIT_DEVICE
    if not torch.cuda.is_available():
        print("smoke: PyTorch finds no GPU", file=sys.stderr)
        return EXIT_DEVICE
    print(torch.cuda.get_device_name(), "PyTorch", torch.__version__, "CUDA", torch.version.cuda)
    meter = Meter()
    meter.print_latencies()
    a, b = (torch.randn(EDGE, EDGE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    source = torch.empty(COPIED, device="cuda", dtype=torch.uint8)
    target = torch.empty_like(source)
    load(torch, meter, f"bf16 {EDGE}^3, TFLOP/s", lambda: torch.mm(a, b), 2 * EDGE**3 / 1e12,
         PRODUCT_SECONDS)
    load(torch, meter, "copy of 2 GiB, GB/s read and written", lambda: target.copy_(source),
         2 * COPIED / 1e9, COPY_SECONDS)
    time.sleep(1.0)
    print(f"after 1 s at rest  {meter.line()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
