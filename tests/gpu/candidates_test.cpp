// A measured choice never changes a result: every candidate of the selector gives the bits of the built-in choice.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "abi/step_state.h"
#include "fixtures/slow_device.h"
#include "kernels/library.h"
#include "selftest/attention_data.h"
#include "selftest/bench.h"
#include "selftest/data.h"
#include "selftest/matrix_check.h"
#include "test_device.h"

namespace skipstone::selftest {
namespace {

using fixtures::TestDevice;
using kernels::Choices;
using kernels::padded;
using kernels::ResourceKind;
using kernels::Selector;
using Words = std::vector<std::uint32_t>;

constexpr kernels::Resource x_buffer{ResourceKind::normed}, y_buffer{ResourceKind::scratch};

class Candidates : public testing::Test {
 protected:
  Selector with(const Choices& choices) const {
    Selector select(device_->caps(), device_->tuning());
    select.use(choices);
    return select;
  }
  /// Whether a format is tried with so many rows: on CPU drivers, which take a second for a wide kernel, one format has all buckets.
  bool tried(gguf::Type format, std::uint32_t rows) const {
    if (rows > 64) return false;
    return !device_->caps().is_cpu() || format == gguf::Type::q8_0 || rows == 4 || (rows == 1 && !fixtures::slow_device());
  }

  std::shared_ptr<vk::Device> device_ = TestDevice::get().device;
  kernels::Library& library_ = *TestDevice::get().kernels;
};

/// The product with all candidates of `candidates`, by memcmp.
template <typename Choice, typename Key, typename Run>
std::size_t expect_same_products(const std::vector<Choice>& candidates, std::map<Key, Choice> Choices::*table, const Key& key,
                                 const std::string& subject, Run run) {
  Words built_in;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Choices choices;
    (choices.*table)[key] = candidates[i];
    const Words words = run(choices);
    if (i == 0) built_in = words;
    EXPECT_EQ(words.size(), built_in.size());
    EXPECT_EQ(std::memcmp(words.data(), built_in.data(), words.size() * sizeof(std::uint32_t)), 0)
        << subject << ", candidate " << i << " of " << candidates.size();
  }
  return candidates.size();
}

TEST_F(Candidates, GiveTheSameBitsForMatrices) {
  std::size_t compared = 0;
  for (const gguf::Type format : formats()) {
    const std::uint32_t n = 134, k = gguf::traits(format).block > 1 ? 512 : 332;  // no whole number of tiles
    Random random("candidates " + suffix(format));
    const HostMatrix matrix(format, n, k, random);
    for (const std::uint32_t rows : kernels::row_buckets) {
      if (!tried(format, rows)) continue;
      Bench bench(device_, library_);
      const kernels::Matrix placed = place(bench, matrix, 1, bench.select().interleave());
      bench.put(x_buffer, strided(random.floats(std::size_t{rows} * k, -2.0f, 2.0f), k));
      reserve_half_rows(bench, k, rows);
      constexpr std::uint32_t norm_tensor = 1;
      bench.put({ResourceKind::weight, norm_tensor}, strided(random.floats(k, 0.5f, 2.0f), k));
      kernels::MatvecFusion norm, swiglu;
      norm.norm = swiglu.norm = kernels::MatvecNorm{norm_tensor, 1e-5f};
      swiglu.activation = kernels::Activation::gated_silu;
      const Selector select = with({});
      for (const kernels::MatvecFusion& fusion : {kernels::MatvecFusion{}, norm, swiglu}) {
        if (fusion.norm && ((select.tiled() && rows > STEP_VERIFY_ROWS) || format != gguf::Type::q8_0)) continue;
        const auto run = [&](const Choices& choices) {
          bench.reserve(y_buffer, std::size_t{rows} * padded(n));
          bench.run(kernels::matvec(with(choices), placed, x_buffer, y_buffer, rows, fusion, "candidate"));
          return bench.get<std::uint32_t>(y_buffer, std::size_t{rows} * padded(n));
        };
        const std::string subject = fmt::format("{}, {} rows", gguf::traits(format).name, rows);
        if (select.tiled() && rows > STEP_VERIFY_ROWS) {
          compared += expect_same_products(select.matmul_candidates(format, n, rows), &Choices::matmul, {format, n, rows}, subject, run);
        } else {
          compared += expect_same_products(select.matvec_candidates(format, rows), &Choices::matvec, {format, rows}, subject, run);
        }
      }
    }
  }
  EXPECT_GT(compared, 30u);
  EXPECT_EQ(TestDevice::get().messages(), 0u);
}

TEST_F(Candidates, GiveTheSameBitsForAttention) {
  const kernels::AttentionShape shape{
      .heads = 12, .kv_heads = 2, .head_dim = 64, .rope_dim = 64, .context = 160, .kv_format = KvFormat::f16};
  const std::uint32_t width = shape.heads * shape.head_dim, base = 100;
  Random random("candidates attention");
  for (const std::uint32_t rows : {1u, 4u}) {
    Bench bench(device_, library_);
    const AttentionData data({shape, base, rows}, "candidates attention");
    data.put(bench, rows);
    bench.put({ResourceKind::q_rotated}, strided(random.floats(std::size_t{rows} * width, -6.0f, 6.0f), width));
    bench.set_rows(base, rows);
    const auto candidates = with({}).attention_candidates({shape.group(), shape.head_dim, rows}, shape.chunk);
    // 6, 3, 2 and 1 heads of 6; one dispatch for all keys also tries 2 and 1 rows instead of 4.
    ASSERT_EQ(candidates.size(), with({}).tuning().texels && rows > 1 ? 6u : 4u);
    Words built_in;
    for (const kernels::AttentionChoice& candidate : candidates) {
      Choices choices;
      choices.attention[{shape.group(), shape.head_dim, rows}] = candidate;
      bench.reserve({ResourceKind::attention_partial}, shape.partial_bytes(rows) / 4);
      bench.reserve({ResourceKind::attended}, std::size_t{rows} * padded(width));
      bench.state().attention_groups = {(base + rows - 1) / shape.chunk + 1, shape.heads / candidate.heads, rows};
      bench.run(kernels::attention(with(choices), shape, {}, rows, "candidate"));
      const Words words = bench.get<std::uint32_t>({ResourceKind::attended}, std::size_t{rows} * padded(width));
      if (built_in.empty()) built_in = words;
      EXPECT_EQ(words, built_in) << candidate.heads << " heads x " << candidate.rows << " rows of " << rows;
    }
  }
}

}  // namespace
}  // namespace skipstone::selftest
