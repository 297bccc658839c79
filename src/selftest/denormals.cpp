#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/env.h"
#include "selftest/bench.h"
#include "selftest/data.h"
#include "selftest/selftest.h"

namespace skipstone::selftest {
namespace {

constexpr std::size_t block = 32;

/// Two rows of weights, one block each, times x; by the kernel that decodes with them.
template <typename Weight>
std::vector<float> product(Bench& bench, gguf::Type format, const std::vector<Weight>& weights, const std::vector<float>& x) {
  gguf::Tensor tensor;
  tensor.name = "denormals";
  tensor.type = format;
  tensor.dimensions = 2;
  tensor.shape = {block, 2, 1, 1};
  tensor.data = std::as_bytes(std::span(weights));
  const kernels::Resource input{kernels::ResourceKind::normed}, output{kernels::ResourceKind::scratch};
  const kernels::Matrix matrix = place(bench, tensor, 1, bench.select().interleave());
  bench.put(input, x);
  bench.reserve(output, block);
  bench.run(kernels::matvec(bench.select(), matrix, input, output, 1, {}, "denormals"));
  return bench.get<float>(output, 2);
}

}  // namespace

Denormals denormals(const std::shared_ptr<vk::Device>& device) {
  kernels::Library library(device, env::cache_directory());
  Bench floats(device, library), halves(device, library);
  std::vector<float> weights(2 * block), x(block), ones(block, 1.0f);
  weights[0] = 1.0f;  // a denormal factor ...
  x[0] = 0x1p-130f;
  weights[block + 1] = x[1] = 0x1p-70f;  // ... and a denormal product
  std::vector<std::uint16_t> least(2 * block);
  least[0] = least[block] = 1;  // 2^-24, the smallest half
  const std::vector<float> of_floats = product(floats, gguf::Type::f32, weights, x);
  const std::vector<float> of_halves = product(halves, gguf::Type::f16, least, ones);
  return {of_floats[0] == 0x1p-130f && of_floats[1] == 0x1p-140f, of_halves[0] == 0x1p-24f};
}

}  // namespace skipstone::selftest
