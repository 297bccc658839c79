// Matrices on their way to the device: a damaged scale is refused by the names of tensor and type; rows of heads are turned.
#include "model/repack.h"

#include <gtest/gtest.h>

#include "fixtures/failure.h"
#include "gguf/block_code.h"

namespace skipstone::model {
namespace {

TEST(Repack, RefusesScalesThatAreNotFinite) {
  constexpr std::uint64_t rows = 5, blocks = 3;
  std::size_t checked = 0;
  for (const gguf::Traits& t : gguf::all_traits()) {
    if (!t.runnable) continue;
    const std::vector<std::byte> ones(t.bytes, std::byte{0xff});
    if (gguf::scales_are_finite(t.type, ones.data(), 1)) continue;  // floats, and NVFP4, whose scales are always finite
    std::vector<std::byte> bytes(rows * blocks * t.bytes);
    gguf::Tensor tensor;
    tensor.name = "blk.7.ffn_up.weight";
    tensor.type = t.type;
    tensor.dimensions = 2;
    tensor.shape = {blocks * t.block, rows, 1, 1};
    tensor.data = bytes;
    const gguf::Tensor* const source = &tensor;
    EXPECT_EQ(repack_rows(std::span(&source, 1), 0, rows, 4).quants.size() % 16, 0u) << t.name;
    // All bits set: every scale is then no number, in whatever place it is.
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>((3 * blocks + 1) * t.bytes), t.bytes, std::byte{0xff});
    tensor.data = bytes;
    const fixtures::Failure failure = fixtures::failure_of([&] { repack_rows(std::span(&source, 1), 2, rows - 2, 4); });
    EXPECT_EQ(failure.code, Code::bad_file) << t.name;
    for (const std::string& part : {tensor.name, std::string(t.name), std::string("row 3")})
      EXPECT_NE(failure.message.find(part), std::string::npos) << failure.message;
    repack_rows(std::span(&source, 1), 0, 3, 4);  // the rows before it
    ++checked;
  }
  EXPECT_GE(checked, 24u);
}

// Two parts of three rows each, of which the first two are turned: columns become rows.
TEST(Repack, TurnsRowsOfParts) {
  std::vector<float> values(6 * 32);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 4.0f - 9.0f;
  for (const gguf::Type type : {gguf::Type::f32, gguf::Type::f16, gguf::Type::q8_0}) {
    const gguf::Traits& traits = gguf::traits(type);
    std::vector<std::byte> bytes(values.size() / traits.block * traits.bytes);
    gguf::quantize(type, values, bytes);
    gguf::Tensor tensor;
    tensor.name = "blk.0.attn_kv_b.weight";
    tensor.type = type;
    tensor.dimensions = 2;
    tensor.shape = {32, 6, 1, 1};
    tensor.data = bytes;
    std::vector<float> stored(values.size());
    gguf::dequantize(tensor, stored);
    const gguf::Type wanted = type == gguf::Type::f16 ? gguf::Type::f16 : gguf::Type::f32;
    const TurnedMatrix turned = turn_rows(tensor, {.step = 3, .rows = 2}, wanted);
    EXPECT_EQ(turned.tensor.shape, (std::array<std::uint64_t, 4>{2, 32, 2, 1}));
    std::vector<float> got(turned.tensor.elements());
    gguf::dequantize(turned.tensor, got);
    for (std::size_t part = 0; part < 2; ++part) {
      for (std::size_t column = 0; column < 32; ++column) {
        for (std::size_t row = 0; row < 2; ++row) {
          EXPECT_EQ(got[(part * 32 + column) * 2 + row], stored[(part * 3 + row) * 32 + column]) << traits.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace skipstone::model
