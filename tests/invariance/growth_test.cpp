// Long texts and many texts: device memory and recordings stay what they were.
#include <gtest/gtest.h>

#include "base/philox.h"
#include "device_model.h"

namespace skipstone::fixtures {
namespace {

TinyConfig small(std::uint32_t context) {
  TinyConfig tiny;
  tiny.layers = 1;
  tiny.heads = 2;
  tiny.kv_heads = 1;
  tiny.dim = 32;
  tiny.ffn = 32;
  tiny.context = context;
  tiny.type = gguf::Type::f16;
  return tiny;
}

TEST(Growth, TwoThousandTokensTakeNoMoreThanTheFirst) {
  DeviceModel model(small(2048), KvFormat::f16);
  const auto sequence = model.sequence();
  const exec::PassSpec spec{.layers = model.layers()};
  std::int32_t token = 1;
  std::uint64_t memory = 0;
  std::size_t passes = 0;
  for (std::uint32_t position = 0; position < 2000; ++position) {
    sequence->run(spec, {.tokens = {&token, 1}, .base = position});
    ASSERT_LT(sequence->result(0).token, model.config().vocabulary);
    token = static_cast<std::int32_t>(sequence->result(0).token);
    if (position == 0) {
      memory = TestDevice::get().device->memory_allocated();
      passes = sequence->recorded_passes();
    }
  }
  EXPECT_EQ(TestDevice::get().device->memory_allocated(), memory);
  EXPECT_EQ(sequence->recorded_passes(), passes);
  EXPECT_EQ(passes, 1u);
}

TEST(Growth, RecordedPassesAreBounded) {
  TinyConfig tiny = small(64);
  tiny.layers = 8;
  DeviceModel model(tiny, KvFormat::f16);
  const auto sequence = model.sequence();
  const std::int32_t token = 5;
  sequence->run({.layers = model.layers()}, {.tokens = {&token, 1}, .base = 0});
  const abi::RowResult first = sequence->result(0);
  const std::uint64_t memory = TestDevice::get().device->memory_allocated();
  for (std::uint32_t i = 0; i < 200; ++i) {
    exec::LayerPlan plan = model.layers();
    for (std::uint32_t layer = 0; layer < 8; ++layer) plan.skip_attention[layer] = (i + 1) >> layer & 1u;
    sequence->run({.layers = plan}, {.tokens = {&token, 1}, .base = 1});
  }
  EXPECT_LE(sequence->recorded_passes(), 64u);
  EXPECT_EQ(TestDevice::get().device->memory_allocated(), memory);
  sequence->run({.layers = model.layers()}, {.tokens = {&token, 1}, .base = 0});  // dropped meanwhile, recorded anew
  EXPECT_EQ(std::memcmp(&first, &sequence->result(0), sizeof(first)), 0);
}

TEST(Growth, ManySequencesGiveTheirMemoryBack) {
  DeviceModel model(small(256), KvFormat::f16);
  const exec::PassSpec spec{.layers = model.layers()};
  const std::int32_t token = 7;
  const auto kept = model.sequence();
  kept->run(spec, {.tokens = {&token, 1}, .base = 0});
  const abi::RowResult wanted = kept->result(0);
  const std::uint64_t memory = TestDevice::get().device->memory_allocated();
  for (int i = 0; i < 30; ++i) {
    const auto sequence = model.sequence();
    sequence->run(spec, {.tokens = {&token, 1}, .base = 0});
    EXPECT_EQ(std::memcmp(&wanted, &sequence->result(0), sizeof(wanted)), 0);
    EXPECT_EQ(model.passes().cache().pool(exec::MemoryKind::full).use().used, 2u);
  }
  EXPECT_EQ(model.passes().cache().pool(exec::MemoryKind::full).use().used, 1u);
  EXPECT_EQ(TestDevice::get().device->memory_allocated(), memory);
}

}  // namespace
}  // namespace skipstone::fixtures
