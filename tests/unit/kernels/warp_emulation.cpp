#include "tests/unit/kernels/warp_emulation.hpp"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace orrery::kernels::emulated {

Block& Block::now() {
  static Block block;
  return block;
}

void Block::run(dim3 grid, int threads, int memory, const std::function<void()>& kernel) {
  constexpr std::size_t kStack = std::size_t{1} << 18;
  threads_ = threads;
  kernel_ = &kernel;
  gridDim = grid;
  blockDim = dim3(static_cast<unsigned>(threads));
  memory_.assign((static_cast<std::size_t>(memory) + sizeof(Unit) - 1) / sizeof(Unit), {});
  stacks_.assign(static_cast<std::size_t>(threads), std::vector<char>(kStack));
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z) {
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x) {
        run_block();
      }
    }
  }
}

void Block::enter() {
  Block& block = now();
  (*block.kernel_)();
  block.finished_[static_cast<std::size_t>(block.current_)] = true;
}

void Block::run_block() {
  const auto threads = static_cast<std::size_t>(threads_);
  barrier_ = {};
  warps_.assign(threads / kLanes, {});
  finished_.assign(threads, false);
  fibres_.assign(threads, {});
  for (std::size_t i = 0; i < threads; ++i) {
    getcontext(&fibres_[i]);
    fibres_[i].uc_stack.ss_sp = stacks_[i].data();
    fibres_[i].uc_stack.ss_size = stacks_[i].size();
    fibres_[i].uc_link = &scheduler_;
    makecontext(&fibres_[i], &Block::enter, 0);
  }
  for (bool running = true; running;) {
    running = false;
    for (std::size_t i = 0; i < threads; ++i) {
      if (!finished_[i]) {
        running = true;
        current_ = static_cast<int>(i);
        threadIdx = {static_cast<unsigned>(i), 0, 0};
        swapcontext(&scheduler_, &fibres_[i]);
      }
    }
  }
}

void Block::wait(Barrier& barrier, int count) {
  const std::uint64_t generation = barrier.generation;
  if (++barrier.arrived == count) {
    barrier.arrived = 0;
    ++barrier.generation;
    return;
  }
  while (barrier.generation == generation) {
    swapcontext(&fibres_[static_cast<std::size_t>(current_)], &scheduler_);
  }
}

}  // namespace orrery::kernels::emulated
