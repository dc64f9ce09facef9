"""Which folder may include which. Arrows never point up."""

# Folder of sim/ -> what it may include: a whole folder ("base"), one header ("model/op.hpp"), or the
# headers of all stages with this ending ("*_spec.hpp").
ARROWS = {
    "base": (),
    "engine": ("base",),
    "fabric": ("base",),
    "yaml": ("base",),
    "kernels": ("base",),
    "model": ("base", "kernels"),
    "layout": ("base", "model"),
    # A profile speaks of operations and groups, so it shares their words, not their code.
    "hardware": ("base", "yaml", "kernels", "model/op.hpp", "layout/layout_spec.hpp"),
    "cost": ("base", "kernels", "model", "layout", "hardware"),
    # A step graph is a task graph with roles; durations and replay stay out of reach.
    "schedule": ("base", "engine/task_graph.hpp", "model", "layout"),
    "step": ("base", "engine", "fabric", "model", "layout", "hardware", "cost", "schedule"),
    "run": ("base", "engine", "hardware", "*_result.hpp"),
    # Expectations read values with units by the same parser as scenarios.
    "report": ("base", "engine", "yaml/scalar.hpp", "model", "hardware", "layout", "schedule", "step", "run"),
    # A measured step is booked in the categories of the predicted one.
    "trace": ("base", "step/step_result.hpp"),
    # What the recipes of a stack's profile set, by the architecture of a GPU's.
    "scenario": ("base", "yaml", "hardware/gpu_profile.hpp", "hardware/profile_reader.hpp",
                 "hardware/profile_search.hpp", "hardware/software_profile.hpp", "*_spec.hpp", "*presets.hpp"),
    # Other stacks' configurations become the text of a scenario; parameters are counted by it, and the
    # GPU of a log is compared with that of the scenario.
    "import_config": ("base", "yaml", "model", "scenario", "hardware/gpu_profile.hpp",
                      "hardware/profile_reader.hpp"),
    "evaluate": ("base", "engine", "yaml", "kernels", "model", "layout", "hardware", "cost", "schedule", "step",
                 "run", "report", "trace", "scenario"),
    "sweep": ("base", "hardware", "run", "report", "scenario", "evaluate", "yaml"),
    # What share_jobs.hpp takes and gives is the product of a step.
    "jobs": ("base", "yaml", "hardware", "step", "report", "scenario", "evaluate"),
    "plan": ("base", "yaml", "model", "layout", "hardware", "cost", "schedule", "step", "scenario", "evaluate",
             "report", "run", "sweep"),
    "validate": ("base", "engine", "fabric", "yaml", "model", "layout", "hardware", "cost", "schedule", "step",
                 "run", "report", "scenario", "evaluate", "plan"),
    "cli": ("base", "scenario", "import_config", "evaluate", "sweep", "jobs", "plan", "validate", "report",
            "trace", "*yaml/scalar.hpp", "*_spec.hpp", "*_result.hpp"),
}

# The order of the data flow: links go from a later component to an earlier one.
ORDER = ("base", "engine", "fabric", "yaml", "kernels", "model", "layout", "hardware", "cost", "schedule", "step",
         "run", "report", "trace", "scenario", "import_config", "evaluate", "sweep", "jobs", "plan", "validate",
         "cli")

# Headers that hold words only: between the folders of a component they may be included against the order.
WORDS = ("_spec.hpp", "_input.hpp", "_result.hpp", "_plan.hpp")

# Components whose folders still include each other in circles; the list may only become shorter.
CIRCULAR = ("gui", "sim/scenario")

# Folder outside sim/ -> folders that it may include. No arrow points from sim/ to any of them. The rooms
# of a folder may include what it may, and each other.
PROGRAM_ARROWS = {
    "kernels/reference": ("sim/kernels", "sim/base"),
    "kernels/nvml": ("sim/base",),
    "kernels/device": ("sim/kernels", "kernels/nvml", "sim/base"),
    "kernels": ("sim/kernels", "kernels/device", "kernels/reference", "sim/base"),
    "calibrate/samples": ("sim/kernels", "sim/base"),
    "calibrate/plan": ("calibrate/samples", "sim/kernels", "sim"),
    # The protocol knows the word Unsupported, but no device.
    "calibrate/sweep": ("calibrate/samples", "calibrate/plan", "sim/kernels", "kernels/device", "kernels/nvml",
                        "sim/base"),
    "calibrate/profile": ("calibrate/samples", "calibrate/plan", "calibrate/fit", "sim/kernels", "sim"),
    "calibrate/import": ("calibrate/samples", "sim"),
    "calibrate/measure": ("calibrate", "kernels", "sim/base"),
    "calibrate/validate": ("calibrate", "kernels", "sim"),
    "calibrate/command": ("calibrate", "kernels", "sim"),
    "calibrate/fit": ("calibrate/fit", "sim"),
    "gui/timeline": ("sim",),
    "gui/models": ("gui/timeline", "sim"),
    "gui/charts": ("gui/models", "gui/timeline", "sim"),
    "gui/widgets": ("gui", "sim"),
    "gui/report": ("gui", "sim"),
    "gui": ("gui", "sim"),
    "mpi": ("sim",),
    "python": ("sim",),
}

# Stages that the window may not look into: it shows an Evaluation and recomputes nothing.
HIDDEN_FROM_GUI = ("sim/cost/", "sim/engine/", "sim/schedule/", "sim/yaml/")

# What sim/ includes of no other project.
FOREIGN = ("Eigen/", "Q", "cuda", "cublas", "cub/", "cudnn", "cutlass/", "mpi.h", "nccl", "nvml", "nvtx", "thrust/",
           "unsupported/Eigen/")
