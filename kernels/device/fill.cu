#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/device/fill.hpp"
#include "kernels/device/random.hpp"
#include "kernels/device/runtime.hpp"

namespace orrery::kernels {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 65536;  // threads beyond that stride over the rest

unsigned blocks_for(std::int64_t threads) {
  const std::int64_t blocks = (threads + kThreads - 1) / kThreads;
  return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, kMostBlocks));
}

struct NormalSource {
  Normal normal;

  ORRERY_HD NormalBlock operator()(std::int64_t block) const {
    const auto first = static_cast<std::uint64_t>(normal.first) / kBlockWords;
    NormalBlock values = normal_block(normal.seed, first + static_cast<std::uint64_t>(block));
    for (float& value : values.value) {
      value = rounded_mul(value, normal.deviation);
    }
    return values;
  }
};

struct UniformSource {
  Uniform uniform;

  ORRERY_HD NormalBlock operator()(std::int64_t block) const {
    const RandomBlock words = random_block(uniform.seed, static_cast<std::uint64_t>(block));
    const float width = rounded_add(uniform.high, -uniform.low);
    NormalBlock values = {};
    for (int i = 0; i < kBlockWords; ++i) {
      values.value[i] = rounded_add(uniform.low, rounded_mul(uniform_of(words.word[i]), width));
    }
    return values;
  }
};

// Four elements per step; in bytes so that no alignment beyond one element is assumed of the end.
template <Element kElement, typename Source>
__global__ void fill_kernel(unsigned char* data, std::int64_t count, Source source) {
  constexpr int kBits = bits_of(kElement);
  const std::int64_t blocks = (count + kBlockWords - 1) / kBlockWords;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t block = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       block < blocks; block += stride) {
    const NormalBlock values = source(block);
    const int filled =
        static_cast<int>(min(static_cast<std::int64_t>(kBlockWords), count - block * kBlockWords));
    if constexpr (kBits == 4) {
      for (int i = 0; i < filled; i += 2) {
        const std::uint32_t high = i + 1 < filled ? encode(kElement, values.value[i + 1]) : 0U;
        data[block * 2 + i / 2] =
            static_cast<unsigned char>(encode(kElement, values.value[i]) | (high << 4U));
      }
    } else {
      for (int i = 0; i < filled; ++i) {
        const std::uint32_t bits = encode(kElement, values.value[i]);
        const std::int64_t at = block * kBlockWords + i;
        if constexpr (kBits == 32) {
          reinterpret_cast<std::uint32_t*>(data)[at] = bits;
        } else if constexpr (kBits == 16) {
          reinterpret_cast<std::uint16_t*>(data)[at] = static_cast<std::uint16_t>(bits);
        } else {
          data[at] = static_cast<unsigned char>(bits);
        }
      }
    }
  }
}

template <Element kElement, typename Source>
void launch_fill(void* data, std::int64_t count, Source source, Stream stream) {
  const std::int64_t threads = (count + kBlockWords - 1) / kBlockWords;
  fill_kernel<kElement><<<blocks_for(threads), kThreads, 0, stream>>>(
      static_cast<unsigned char*>(data), count, source);
  check_launch("the random fill");
}

template <typename Source>
void fill(void* data, Element element, std::int64_t count, Source source, Stream stream) {
  if (count == 0) {
    return;
  }
  switch (element) {
    case Element::fp32:
      return launch_fill<Element::fp32>(data, count, source, stream);
    case Element::bf16:
      return launch_fill<Element::bf16>(data, count, source, stream);
    case Element::fp16:
      return launch_fill<Element::fp16>(data, count, source, stream);
    case Element::e4m3:
      return launch_fill<Element::e4m3>(data, count, source, stream);
    case Element::e5m2:
      return launch_fill<Element::e5m2>(data, count, source, stream);
    case Element::e8m0:
      return launch_fill<Element::e8m0>(data, count, source, stream);
    case Element::e2m1:
      return launch_fill<Element::e2m1>(data, count, source, stream);
  }
}

template <typename T>
__global__ void count_kernel(const T* data, std::int64_t count, unsigned long long* found) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    mine += data[i] == static_cast<T>(~T{0}) ? 1U : 0U;
  }
  if (mine > 0) {
    atomicAdd(found, mine);
  }
}

float stored(Element element, float value) { return decode(element, encode(element, value)); }

}  // namespace

void fill_normal(void* data, Element element, std::int64_t count, Normal normal, Stream stream) {
  require(normal.first >= 0 && normal.first % kBlockWords == 0,
          "a fill starts at a multiple of four");
  fill(data, element, count, NormalSource{normal}, stream);
}

void fill_uniform(void* data, Element element, std::int64_t count, Uniform uniform, Stream stream) {
  fill(data, element, count, UniformSource{uniform}, stream);
}

void fill_unwritten(void* data, std::int64_t bytes, Stream stream) {
  constexpr int kAllOnes = 0xFF;
  check(cudaMemsetAsync(data, kAllOnes, static_cast<std::size_t>(bytes), stream),
        "mark an output as unwritten");
}

std::int64_t count_unwritten(const void* data, int element_bytes, std::int64_t count,
                             Stream stream) {
  if (count == 0) {
    return 0;
  }
  const DeviceBuffer found(sizeof(unsigned long long));
  check(cudaMemsetAsync(found.data(), 0, sizeof(unsigned long long), stream), "clear a counter");
  auto* counter = found.as<unsigned long long>();
  const unsigned blocks = blocks_for(count);
  switch (element_bytes) {
    case 1:
      count_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<const std::uint8_t*>(data), count,
                                                    counter);
      break;
    case 2:
      count_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<const std::uint16_t*>(data), count,
                                                    counter);
      break;
    default:
      require(element_bytes == 4, "an output element has 1, 2 or 4 bytes");
      count_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<const std::uint32_t*>(data), count,
                                                    counter);
  }
  check_launch("the count of unwritten elements");
  unsigned long long result = 0;
  copy_to_host(&result, found.data(), sizeof(result), stream);
  return static_cast<std::int64_t>(result);
}

float stored_normal(Element element, Normal normal, std::int64_t index) {
  const auto block = NormalSource{normal}(index / kBlockWords);
  return stored(element, block.value[index % kBlockWords]);
}

float stored_uniform(Element element, Uniform uniform, std::int64_t index) {
  const auto block = UniformSource{uniform}(index / kBlockWords);
  return stored(element, block.value[index % kBlockWords]);
}

namespace {

std::vector<float> decoded(const std::vector<unsigned char>& bytes, Element element,
                           std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const int bits = bits_of(element);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word = 0;
    if (bits == 4) {
      word = (bytes[i / 2] >> (i % 2 == 0 ? 0U : 4U)) & 0xFU;
    } else {
      const auto width = static_cast<std::size_t>(bits / 8);
      for (std::size_t b = 0; b < width; ++b) {
        word |= static_cast<std::uint32_t>(bytes[i * width + b]) << (8U * b);
      }
    }
    values[i] = decode(element, word);
  }
  return values;
}

}  // namespace

std::vector<float> read_elements(const void* data, Element element, std::int64_t first,
                                 std::int64_t count, Stream stream) {
  constexpr std::int64_t kBitsInByte = 8;
  const std::int64_t start = first * bits_of(element) / kBitsInByte;
  require(start * kBitsInByte == first * bits_of(element), "a read starts at a whole byte");
  std::vector<unsigned char> bytes(static_cast<std::size_t>(bytes_of(element, count)));
  if (bytes.empty()) {
    return {};
  }
  copy_to_host(bytes.data(), static_cast<const unsigned char*>(data) + start,
               static_cast<std::int64_t>(bytes.size()), stream);
  return decoded(bytes, element, count);
}

std::vector<float> read_rows(const void* data, Element element, std::int64_t first,
                             std::int64_t stride, std::int64_t width, std::int64_t count,
                             Stream stream) {
  const auto bytes = [element](std::int64_t elements) {
    return static_cast<std::size_t>(bytes_of(element, elements));
  };
  std::vector<unsigned char> raw(bytes(width * count));
  check(cudaMemcpy2DAsync(raw.data(), bytes(width),
                          static_cast<const unsigned char*>(data) + bytes(first),
                          bytes(std::max(stride, width)), bytes(width),
                          static_cast<std::size_t>(count), cudaMemcpyDeviceToHost, stream),
        "copy rows to the host");
  check(cudaStreamSynchronize(stream), "copy rows to the host");
  return decoded(raw, element, width * count);
}

}  // namespace orrery::kernels
