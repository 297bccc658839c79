// Host and kernels agree about every byte that they exchange, by what is in the compiled kernels.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/status.h"
#include "contract.h"

namespace skipstone::abi_test {
namespace {

const kernels::KernelInfo& kernel_named(std::string_view name) {
  for (const kernels::KernelInfo& kernel : kernels::kernel_table()) {
    if (name == kernel.name) return kernel;
  }
  fail(Code::not_found, "there is no kernel {}", name);
}

TEST(Abi, EveryKernelAgreesWithTheHost) {
  ASSERT_GE(kernels::kernel_table().size(), 25u);
  ASSERT_EQ(kernels::kernel_table().size(), static_cast<std::size_t>(kernels::KernelId::count));
  for (const kernels::KernelInfo& kernel : kernels::kernel_table()) {
    if (kernel.spirv.empty()) {  // left out of this build: the one tier that a shader compiler may not know
      EXPECT_TRUE(std::string_view(kernel.name).starts_with("matmul_coopmat_")) << kernel.name;
      continue;
    }
    EXPECT_EQ(drift(kernel, reflect(kernel.spirv), contract_of(kernel.abi), shared_blocks()), "") << kernel.name;
  }
}

TEST(Abi, SharedBlocksAreSeen) {
  std::set<std::string> with_state;
  for (const kernels::KernelInfo& kernel : kernels::kernel_table()) {
    if (!kernel.spirv.empty() && reflect(kernel.spirv).blocks.count("State") != 0) with_state.insert(kernel.abi);
  }
  EXPECT_EQ(with_state, (std::set<std::string>{"advance", "attention", "attention_merge", "attention_prefill", "attention_serial",
                                               "cosine_sum", "embed", "keep_rows", "move_kv", "norm", "prediction_input", "recurrent_scan",
                                               "rms_norm", "rope_store", "router", "short_conv", "store_record"}));
  EXPECT_EQ(reflect(kernel_named("matvec_q8_0").spirv).blocks.at("Partial").size(), 4u);
  EXPECT_EQ(reflect(kernel_named("argmax_merge").spirv).blocks.at("RowResult").size(), 4u);
  EXPECT_EQ(reflect(kernel_named("argmax_merge").spirv).blocks.at("Partial").size(), 4u);
  EXPECT_EQ(reflect(kernel_named("candidates").spirv).blocks.at("CandidateRequest").size(), 7u);
  EXPECT_EQ(reflect(kernel_named("candidates").spirv).blocks.at("CandidateGroup").size(), 4u);
  EXPECT_EQ(reflect(kernel_named("candidates").spirv).blocks.at("CandidateResult").size(), 9u);
  EXPECT_EQ(reflect(kernel_named("advance").spirv).blocks.at("Round").size(), 7u);
  EXPECT_EQ(reflect(kernel_named("accept").spirv).blocks.at("RoundResult").size(), 3u);
}

TEST(Abi, ReflectionReadsWhatIsThere) {
  const Reflection r = reflect(kernel_named("rms_norm").spirv);
  EXPECT_EQ(r.push, (std::vector<Member>{{"n", "uint", 0}, {"stride", "uint", 4}, {"epsilon", "float", 8}, {"last_row", "uint", 12}}));
  EXPECT_EQ(r.constants, (std::vector<Constant>{{0, "LANES", 32}}));
  EXPECT_EQ(r.bindings, (std::map<std::uint32_t, bool>{{0, false}, {1, false}, {2, false}, {3, false}}));
  EXPECT_EQ(r.local_size_x_id, 0u);
  const std::vector<std::uint32_t> noise{1, 2, 3, 4, 5, 6};
  EXPECT_THROW(reflect(noise), Error);
  std::vector<std::uint32_t> cut(kernel_named("rms_norm").spirv.begin(), kernel_named("rms_norm").spirv.begin() + 6);
  cut[5] = 0x00ff0005;
  EXPECT_THROW(reflect(cut), Error);
}

TEST(Abi, DriftIsSeen) {
  const kernels::KernelInfo& kernel = kernel_named("attention");
  const Reflection reflection = reflect(kernel.spirv);
  const Contract right = contract_of("attention");
  ASSERT_EQ(drift(kernel, reflection, right, shared_blocks()), "");
  const auto drifted = [&](const std::function<void(Contract&)>& change) {
    Contract wrong = right;
    change(wrong);
    return drift(kernel, reflection, wrong, shared_blocks());
  };
  EXPECT_NE(drifted([](Contract& c) { std::swap(c.push[0].name, c.push[1].name); }), "");
  EXPECT_NE(drifted([](Contract& c) { c.push[2].offset += 4; }), "");
  EXPECT_NE(drifted([](Contract& c) { c.push.back().type = "float"; }), "");
  EXPECT_NE(drifted([](Contract& c) { c.push.pop_back(); }), "");
  EXPECT_NE(drifted([](Contract& c) { c.push.push_back({"more", "uint", 32}); }), "");
  EXPECT_NE(drifted([](Contract& c) { c.push_bytes += 4; }), "");
  EXPECT_NE(drifted([](Contract& c) { c.constants[2].name = "HEAD_SIZE"; }), "");
  EXPECT_NE(drifted([](Contract& c) { c.constants[4].fallback = 32; }), "");
  EXPECT_NE(drifted([](Contract& c) { std::swap(c.constants[1], c.constants[2]); }), "");
  EXPECT_NE(drifted([](Contract& c) { std::swap(c.constant_offsets[1], c.constant_offsets[2]); }), "");
  EXPECT_NE(drifted([](Contract& c) { c.buffers = 6; }), "");
  auto blocks = shared_blocks();
  blocks["State"][2].type = "uint[4]";
  EXPECT_NE(drift(kernel, reflection, right, blocks), "");
  blocks = shared_blocks();
  std::swap(blocks["State"][0].name, blocks["State"][1].name);
  EXPECT_NE(drift(kernel, reflection, right, blocks), "");
  kernels::KernelInfo table = kernel;
  table.texel_buffers ^= 2u;
  EXPECT_NE(drift(table, reflection, right, shared_blocks()), "");
}

}  // namespace
}  // namespace skipstone::abi_test
