"""Which layer may include which. Arrows never point up."""

# Room of sim/ -> the layers in it that have a folder, a library and a namespace of their own. A room that is
# not named here is one layer.
ROOMS = {
    "base": ("yaml",),
    "step": ("engine", "fabric", "kernels", "model", "layout", "hardware", "cost", "schedule", "simulate"),
    "answer": ("trace", "report", "evaluate", "sweep", "jobs", "plan"),
}

# Room -> rooms below it: what its layers include lies in these, or in the room itself.
ROOM_ARROWS = {
    "base": (),
    "step": ("base",),
    "run": ("base", "step"),
    "scenario": ("base", "step", "run"),
    "import_config": ("base", "step", "scenario"),
    "answer": ("base", "step", "run", "scenario"),
    "validate": ("base", "step", "run", "scenario", "answer"),
    "cli": ("base", "step", "run", "scenario", "import_config", "answer", "validate"),
}

# The namespace of a layer is its folder's name, but for these.
NAMESPACES = {"simulate": "step"}

# Layer of sim/ -> what it may include: a whole folder ("base"), one header ("model/op.hpp"), or the
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
    "simulate": ("base", "engine", "fabric", "model", "layout", "hardware", "cost", "schedule"),
    "run": ("base", "engine", "hardware", "*_result.hpp"),
    # Expectations read values with units by the same parser as scenarios.
    "report": ("base", "engine", "yaml/scalar.hpp", "model", "hardware", "layout", "schedule", "simulate", "run"),
    # A measured step is booked in the categories of the predicted one.
    "trace": ("base", "simulate/step_result.hpp"),
    # What the recipes of a stack's profile set, by the architecture of a GPU's.
    "scenario": ("base", "yaml", "hardware/gpu_profile.hpp", "hardware/profile_reader.hpp",
                 "hardware/profile_search.hpp", "hardware/software_profile.hpp", "*_spec.hpp", "*presets.hpp"),
    # Other stacks' configurations become the text of a scenario; parameters are counted by it, and the
    # GPU of a log is compared with that of the scenario.
    "import_config": ("base", "yaml", "model", "scenario", "hardware/gpu_profile.hpp",
                      "hardware/profile_reader.hpp"),
    "evaluate": ("base", "engine", "yaml", "kernels", "model", "layout", "hardware", "cost", "schedule", "simulate",
                 "run", "report", "trace", "scenario"),
    "sweep": ("base", "hardware", "run", "report", "scenario", "evaluate", "yaml"),
    # What share_jobs.hpp takes and gives is the product of a step.
    "jobs": ("base", "yaml", "hardware", "simulate", "report", "scenario", "evaluate"),
    "plan": ("base", "yaml", "model", "layout", "hardware", "cost", "schedule", "simulate", "scenario", "evaluate",
             "report", "run", "sweep"),
    "validate": ("base", "engine", "fabric", "yaml", "model", "layout", "hardware", "cost", "schedule", "simulate",
                 "run", "report", "scenario", "evaluate", "plan"),
    "cli": ("base", "scenario", "import_config", "evaluate", "sweep", "jobs", "plan", "validate", "report",
            "trace", "*yaml/scalar.hpp", "*_spec.hpp", "*_result.hpp"),
}

# The order of the data flow: links go from a later component to an earlier one.
ORDER = ("base", "engine", "fabric", "yaml", "kernels", "model", "layout", "hardware", "cost", "schedule", "simulate",
         "run", "report", "trace", "scenario", "import_config", "evaluate", "sweep", "jobs", "plan", "validate",
         "cli")

# Headers that hold words only: between the folders of a component they may be included against the order.
WORDS = ("_spec.hpp", "_input.hpp", "_result.hpp", "_plan.hpp")

# Components whose folders still include each other in circles; the list may only become shorter.
CIRCULAR = ("gui", "sim/scenario")

# Folder outside sim/ -> folders that it may include. No arrow points from sim/ to any of them. The rooms
# of a folder may include what it may, and each other.
PROGRAM_ARROWS = {
    "kernels/reference": ("sim/step/kernels", "sim/base"),
    "kernels/nvml": ("sim/base",),
    "kernels/device": ("sim/step/kernels", "kernels/reference", "kernels/nvml", "sim/base"),
    "kernels": ("sim/step/kernels", "kernels/device", "kernels/reference", "sim/base"),
    "calibrate/samples": ("sim/step/kernels", "sim/base"),
    "calibrate/plan": ("calibrate/samples", "sim/step/kernels", "sim"),
    # The protocol knows the word Unsupported, but no device.
    "calibrate/sweep": ("calibrate/samples", "calibrate/plan", "sim/step/kernels", "kernels/device", "kernels/nvml",
                        "sim/base"),
    "calibrate/profile": ("calibrate/samples", "calibrate/plan", "calibrate/fit", "sim/step/kernels", "sim"),
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
HIDDEN_FROM_GUI = ("sim/step/cost/", "sim/step/engine/", "sim/step/schedule/", "sim/base/yaml/")

# What sim/ includes of no other project.
FOREIGN = ("Eigen/", "Q", "cuda", "cublas", "cub/", "cudnn", "cutlass/", "mpi.h", "nccl", "nvml", "nvtx", "thrust/",
           "unsupported/Eigen/")
