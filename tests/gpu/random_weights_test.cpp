// Random weights of every format: finite, centred, and as large as they should be, by the kernel that reads rows of a matrix.
#include "model/random_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/operations.h"
#include "selftest/bench.h"
#include "selftest/data.h"
#include "test_device.h"

namespace skipstone::model {
namespace {

using fixtures::TestDevice;
using kernels::ResourceKind;

constexpr std::uint32_t n = 64, k = 2048;

/// The rows of a random matrix as floats.
std::vector<float> random_rows(gguf::Type format) {
  const std::shared_ptr<vk::Device> device = TestDevice::get().device;
  kernels::Library& library = *TestDevice::get().kernels;
  selftest::Bench bench(device, library);
  kernels::Matrix matrix{0, format, n, k, {{0, n}}, bench.select().interleave()};
  const TensorPlace place{{}, "", false, matrix};
  vk::Arena arena(device, vk::Role::weights);
  const vk::Slice quants = arena.allocate(place.quant_bytes(0));
  const vk::Slice scales = place.scale_bytes(0) > 0 ? arena.allocate(place.scale_bytes(0)) : vk::Slice{};
  const vk::Slice out = arena.allocate(std::uint64_t{n} * k * sizeof(float)),
                  state = arena.allocate(sizeof(abi::StepState) + sizeof(std::uint32_t));
  RandomWeights random(device, library, bench.select());
  random.fill(place, 0, 0, quants);
  if (scales) random.fill(place, 0, 1, scales);

  abi::StepState tokens{};
  for (std::uint32_t i = 0; i < n; ++i) tokens.tokens[i] = i;
  vk::Uploader uploader(device);
  uploader.upload(std::as_bytes(std::span(&tokens, 1)), state);
  const kernels::Resolver resolve = [&](const kernels::Resource& resource) {
    if (resource.kind == ResourceKind::weight) return resource.plane == 0 ? quants : scales;
    return resource.kind == ResourceKind::state ? state : out;
  };
  vk::Recorder recorder(device);
  for (const kernels::Dispatch& dispatch : kernels::embed(bench.select(), matrix, n, {ResourceKind::scratch}, 1.0f, "embed")) {
    kernels::record(recorder, library, dispatch, resolve);
  }
  vk::Queue(device).submit_and_wait(recorder.finish());
  std::vector<float> rows(std::size_t{n} * k);
  uploader.download(out, std::as_writable_bytes(std::span(rows)));
  return rows;
}

TEST(RandomWeights, EveryFormatIsFiniteCentredAndOfItsSize) {
  for (const gguf::Type format : selftest::formats()) {
    const std::vector<float> rows = random_rows(format);
    double sum = 0.0, squares = 0.0, largest = 0.0;
    for (const float weight : rows) {
      ASSERT_TRUE(std::isfinite(weight)) << selftest::suffix(format);
      sum += static_cast<double>(weight);
      squares += static_cast<double>(weight) * static_cast<double>(weight);
      largest = std::max(largest, std::abs(static_cast<double>(weight)));
    }
    const double count = static_cast<double>(rows.size()), wanted = 1.0 / std::sqrt(static_cast<double>(k));
    EXPECT_NEAR(std::sqrt(squares / count) / wanted, 1.0, 0.05) << selftest::suffix(format);
    EXPECT_LT(std::abs(sum / count), 0.12 * wanted) << selftest::suffix(format);  // codes reach further down than up
    EXPECT_LT(largest, 10 * wanted) << selftest::suffix(format);
  }
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

void expect_vector(const std::string& name, float low, float high) {
  const std::shared_ptr<vk::Device> device = TestDevice::get().device;
  kernels::Library& library = *TestDevice::get().kernels;
  const kernels::Selector select(device->caps(), device->tuning());
  const TensorPlace place{{}, name, true, {7, gguf::Type::f32, 1, k, {{0, 1}}, 1}};
  vk::Arena arena(device, vk::Role::readback);
  const vk::Slice target = arena.allocate(place.quant_bytes(0));
  RandomWeights(device, library, select).fill(place, 0, 0, target);
  const auto* values = reinterpret_cast<const float*>(target.mapped);
  double sum = 0.0;
  for (std::uint32_t i = 0; i < k; ++i) {
    EXPECT_GE(values[i], low);
    EXPECT_LT(values[i], high);
    sum += static_cast<double>(values[i]);
  }
  EXPECT_NEAR(sum / k, (low + high) / 2, 0.03 * static_cast<double>(high - low));
}

TEST(RandomWeights, NormsAreAroundOne) { expect_vector("blk.0.attn_norm.weight", 0.5f, 1.5f); }
TEST(RandomWeights, BiasesAreAroundNothing) { expect_vector("blk.0.attn_q.bias+blk.0.attn_k.bias", -0.1f, 0.1f); }

}  // namespace
}  // namespace skipstone::model
