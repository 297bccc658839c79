// Five plans as text, for made-up devices: what a change of builder, selector or tuning does to them shows as a difference in
// tests/plan/goldens. After a change that is meant, run this test once with SKIPSTONE_REGENERATE_GOLDENS=1 and review the difference. What
// the plans of other passes and families have to be is in plan_properties_test.cpp.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/env.h"
#include "base/status.h"
#include "exec/pass_buffers.h"
#include "plan/plans.h"

namespace skipstone::exec {
namespace {

std::string golden_file(const std::string& name) { return std::string(SKIPSTONE_GOLDENS) + "/" + name + ".txt"; }

void expect_golden(const std::string& name, const std::string& text) {
  if (env::flag("SKIPSTONE_REGENERATE_GOLDENS")) {
    std::ofstream(golden_file(name), std::ios::binary) << text;
    return;
  }
  std::ifstream file(golden_file(name), std::ios::binary);
  ASSERT_TRUE(file) << golden_file(name) << " is missing; see the head of this test";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "see the head of this test";
}

TEST(PlanGoldens, Decode) {
  for (const auto& [device, caps] : {std::pair{"cpu", lavapipe_like()}, std::pair{"gpu", nvidia_like()}}) {
    const Plans plans(two_layers(gguf::Type::q8_0), caps);
    expect_golden(std::string("decode_") + device, plans.print({.layers = plans.layers()}));
  }
}

TEST(PlanGoldens, Prefill) {
  const Plans plans(two_layers(gguf::Type::f16), nvidia_like());
  expect_golden("prefill", plans.print({.layers = plans.layers(),
                                        .bucket = 64,
                                        .prompt = true,
                                        .output = Output::argmax,
                                        .last_row_only = true,
                                        .cosines = exec::Cosines::attention}));
}

// QK-norm, norms after mixer and MLP, sliding and full layers.
TEST(PlanGoldens, Gemma3) {
  fixtures::TinyConfig tiny = two_layers(gguf::Type::q8_0);
  tiny.architecture = "gemma3";
  tiny.keys = fixtures::tiny_family("gemma3").keys;
  tiny.layers = 6;
  const Plans plans(tiny, nvidia_like());
  expect_golden("gemma3", plans.print({.layers = plans.layers()}));
}

TEST(PlanBuilder, RefusesWindowsOfTreesAndPrompts) {
  const Plans plans(two_layers(), lavapipe_like());
  EXPECT_THROW(plans.build({.layers = plans.layers(), .tree = true, .window = true}), Error);
  EXPECT_THROW(plans.build({.layers = plans.layers(), .bucket = 64, .last_row_only = true, .window = true}), Error);
  EXPECT_THROW(plans.build({.layers = plans.layers(), .window = true, .step = RoundStep::draft}), Error);
}

TEST(PlanBuilder, RefusesRowsThatCannotBeKept) {
  const Plans plans(fixtures::TinyConfig{}, lavapipe_like());
  EXPECT_THROW(plans.build({.layers = plans.layers("attn:0"), .keep_after = 1}), Error);    // not what the full model computes
  EXPECT_THROW(plans.build({.layers = plans.layers("layers:0"), .keep_after = 2}), Error);  // beyond the pass
  EXPECT_THROW(plans.build({.layers = plans.layers("layers:1"), .bucket = 64}), Error);     // more rows than are kept
}

// The tile of a matrix of n rows on a made-up device.
kernels::MatmulChoice tile_on(const vk::Caps& caps, std::uint32_t rows, std::uint32_t n, vk::Tier highest = vk::Tier::cooperative_matrix,
                              gguf::Type format = gguf::Type::q8_0) {
  return kernels::Selector(caps, vk::tuning_for(caps), highest).matmul(format, n, rows);
}

TEST(Selector, TilesFitTheDevice) {
  vk::Caps caps = nvidia_like();
  caps.cooperative_matrix = {16, 16, 16};
  caps.subgroup_size_control = true;
  kernels::MatmulChoice tile = tile_on(caps, 256, 11008);
  EXPECT_EQ(tile.tier, vk::Tier::cooperative_matrix);
  EXPECT_EQ(tile.tile, 128u);
  EXPECT_EQ(tile.lanes, 128u);
  EXPECT_EQ(tile.subgroup, 32u);
  EXPECT_EQ(tile_on(caps, 8, 11008).tile, 128u);                  // a prompt's bits may not depend on where it is cut
  EXPECT_EQ(tile_on(caps, 64, 11008, vk::Tier::fp16).tile, 64u);  // no wider than the pass
  EXPECT_EQ(tile_on(caps, 256, 2048).tile, 64u);                  // 32 workgroups of 128 would leave the device idle
  EXPECT_EQ(tile_on(caps, 256, 512).tile, 32u);
  EXPECT_EQ(tile_on(caps, 256, 11008, vk::Tier::fp16).tier, vk::Tier::fp16);  // built without
  EXPECT_EQ(tile_on(caps, 256, 11008, vk::Tier::cooperative_matrix, gguf::Type::f32).tier, vk::Tier::base);

  caps.max_shared_bytes = 32768;  // (128 + 128) * 144 bytes of floats are too many, (128 + 128) * 72 of halves are not
  EXPECT_EQ(tile_on(caps, 256, 11008, vk::Tier::base).tile, 64u);
  EXPECT_EQ(tile_on(caps, 256, 11008, vk::Tier::fp16).tile, 128u);
  caps.max_shared_bytes = 16384;
  EXPECT_EQ(tile_on(caps, 256, 11008, vk::Tier::base).tile, 32u);
  EXPECT_EQ(tile_on(caps, 256, 11008, vk::Tier::fp16).tile, 64u);
  EXPECT_EQ(tile_on(caps, 256, 11008).tile, 64u);
  caps.max_workgroup_invocations = 64;  // four subgroups of 32 do not fit
  EXPECT_EQ(tile_on(caps, 256, 11008).tier, vk::Tier::fp16);
  EXPECT_EQ(tile_on(caps, 256, 11008).tile, 32u);

  vk::Caps intel = nvidia_like();
  intel.vendor_id = 0x8086;
  intel.subgroup_size = intel.min_subgroup_size = intel.max_subgroup_size = 16;
  intel.cooperative_matrix = {8, 16, 16};
  EXPECT_EQ(tile_on(intel, 256, 11008).tile, 32u);  // 64 x 64 would be 64 sums a lane

  vk::Caps no_halves = nvidia_like();
  no_halves.fp16 = false;
  no_halves.cooperative_matrix = {16, 16, 16};
  EXPECT_EQ(tile_on(no_halves, 256, 11008).tier, vk::Tier::base);
  EXPECT_FALSE(kernels::Selector(lavapipe_like(), vk::tuning_for(lavapipe_like())).tiled());  // CPU devices: never
}

// The numerics contract, seen in plans: passes of any number of rows up to 16 differ in columns, output rows of lanes, rows of attention's
// workgroups and group counts only (kernel_test and candidates_test check that none of them changes a bit). Output rows of the LM
// head's workgroups are the same, for its sums of exponentials are chains over them.
TEST(Plans, VariantsDoNotDependOnTheNumberOfRows) {
  for (const vk::Caps& caps : {lavapipe_like(), nvidia_like()}) {
    const Plans plans(two_layers(gguf::Type::q8_0), caps);
    const Plan one = plans.build({.layers = plans.layers()});
    for (const std::uint32_t bucket : {2u, 4u, 8u, 16u}) {
      const Plan many = plans.build({.layers = plans.layers(), .bucket = bucket});
      ASSERT_EQ(many.dispatches.size(), one.dispatches.size());
      for (std::size_t i = 0; i < one.dispatches.size(); ++i) {
        kernels::Dispatch a = one.dispatches[i], b = many.dispatches[i];
        EXPECT_EQ(a.kernel, b.kernel) << a.label;
        const bool matvec = a.label.find("attn_") != std::string::npos || a.label.find("ffn_") != std::string::npos || a.label == "output";
        if (matvec && a.constants.size() > 3) {
          if (a.label == "output") {
            EXPECT_EQ(a.constants[0] * a.constants[2], b.constants[0] * b.constants[2]);  // LANES * ROWS
            a.constants[0] = b.constants[0] = 0;
          }
          a.constants[2] = b.constants[2] = 0;  // ROWS
          a.constants[3] = b.constants[3] = 0;  // COLS
        }
        if (a.kernel == kernels::KernelId::attention_serial) a.constants[6] = b.constants[6] = 0;  // ROWS
        EXPECT_EQ(a.constants, b.constants) << a.label;
        EXPECT_EQ(a.push, b.push) << a.label;
      }
    }
  }
}

TEST(PlanGoldens, DecodeOnMatrixUnits) {
  const Plans plans(two_layers(gguf::Type::q8_0), with_matrices(nvidia_like(), {16, 16, 16}), 0, kernels::Math::matrix);
  expect_golden("decode_matrix", plans.print({.layers = plans.layers(), .bucket = 4}));
}

// On matrix units passes of any number of rows differ in group counts alone.
TEST(Plans, OnMatrixUnitsNothingButGroupsDependsOnTheNumberOfRows) {
  for (const vk::Caps& caps : {with_matrices(lavapipe_like(), {8, 8, 8}), with_matrices(nvidia_like(), {16, 16, 16})}) {
    const Plans plans(two_layers(gguf::Type::q8_0), caps, 0, kernels::Math::matrix);
    for (const Output output : {Output::argmax, Output::logits}) {
      const Plan one = plans.build({.layers = plans.layers(), .output = output});
      std::size_t products = 0;
      for (const kernels::Dispatch& dispatch : one.dispatches) products += dispatch.kernel == kernels::KernelId::matmul_coopmat_q8_0;
      EXPECT_EQ(products, 2 * 4 + 1u);  // Q, K and V; attention's output; gate and up; down; the LM head
      for (const std::uint32_t bucket : {2u, 4u, 8u, 12u, 16u, 24u, 32u}) {
        const Plan many = plans.build({.layers = plans.layers(), .bucket = bucket, .output = output});
        ASSERT_EQ(many.dispatches.size(), one.dispatches.size());
        for (std::size_t i = 0; i < one.dispatches.size(); ++i) {
          kernels::Dispatch a = one.dispatches[i], b = many.dispatches[i];
          EXPECT_EQ(a.kernel, b.kernel) << a.label;
          if (a.kernel == kernels::KernelId::attention_serial) a.constants[6] = b.constants[6] = 0;  // ROWS
          EXPECT_EQ(a.constants, b.constants) << a.label;
          EXPECT_EQ(a.push, b.push) << a.label;
          EXPECT_EQ(a.subgroup, b.subgroup) << a.label;
        }
      }
    }
  }
}

TEST(Plans, FloatsAreRoundedOnNoTier) {
  const Plans plans(two_layers(gguf::Type::f32), with_matrices(nvidia_like(), {16, 16, 16}), 0, kernels::Math::matrix);
  for (const kernels::Dispatch& dispatch : plans.build({.layers = plans.layers(), .bucket = 8}).dispatches) {
    EXPECT_NE(dispatch.kernel, kernels::KernelId::half_rows) << dispatch.label;
  }
}

TEST(Selector, MatricesNeedDeviceAndBuild) {
  const auto has = [](const vk::Caps& caps, vk::Tier highest) {
    return kernels::Selector(caps, vk::tuning_for(caps), highest).has_matrices();
  };
  EXPECT_TRUE(has(with_matrices(nvidia_like(), {16, 16, 16}), vk::Tier::cooperative_matrix));
  EXPECT_TRUE(has(with_matrices(lavapipe_like(), {8, 8, 8}), vk::Tier::cooperative_matrix));
  EXPECT_FALSE(has(with_matrices(nvidia_like(), {16, 16, 16}), vk::Tier::fp16)) << "built without";
  EXPECT_FALSE(has(nvidia_like(), vk::Tier::cooperative_matrix)) << "a device without";
  vk::Caps small = with_matrices(nvidia_like(), {16, 16, 16});
  small.max_workgroup_invocations = 64;
  EXPECT_FALSE(has(small, vk::Tier::cooperative_matrix)) << "four subgroups do not fit";
}

TEST(Plans, OnlyPassesThatExistAreBuilt) {
  const Plans plans(two_layers(), nvidia_like());
  const auto refused = [&](const PassSpec& spec) {
    try {
      plans.build(spec);
    } catch (const Error& error) {
      return error.code() == Code::internal;
    }
    return false;
  };
  LayerPlan too_many = plans.layers();
  too_many.end = 3;
  EXPECT_TRUE(refused({.layers = too_many}));
  EXPECT_TRUE(refused({.layers = plans.layers(), .bucket = 3}));
  EXPECT_TRUE(refused({.layers = plans.layers(), .bucket = 512}));
  EXPECT_TRUE(refused({.layers = plans.layers(), .bucket = 64, .output = Output::none}));
  EXPECT_TRUE(refused({.layers = plans.layers(), .bucket = 64, .prompt = true, .output = Output::logits}));
  EXPECT_TRUE(refused({.layers = plans.layers(), .bucket = 24, .prompt = true, .output = Output::none}));
  EXPECT_TRUE(refused({.layers = plans.layers(), .bucket = 8, .prompt = true, .output = Output::none, .keep_after = 1}));
  EXPECT_FALSE(refused({.layers = plans.layers(), .bucket = 32, .output = Output::logits, .last_row_only = true}));
}

std::uint64_t cache_bytes(const model::Config& config, std::uint32_t context, const KvFormats& format) {
  return plan_bytes(config, {.context = context, .kv_format = format}).kv;
}

TEST(SequenceBytes, OfKvFormats) {
  constexpr std::uint64_t mib = std::uint64_t{1} << 20;
  model::Config llama_2_7b;
  llama_2_7b.layers.assign(32, {.mixer = model::Attention{.heads = 32, .kv_heads = 32, .head_dim = 128}});
  llama_2_7b.rope_dim = 128;
  EXPECT_EQ(cache_bytes(llama_2_7b, 4096, KvFormat::f32), 4096 * mib);
  EXPECT_EQ(cache_bytes(llama_2_7b, 4096, KvFormat::f16), 2048 * mib);
  EXPECT_EQ(cache_bytes(llama_2_7b, 4096, KvFormat::q8_0), 1088 * mib);
  EXPECT_EQ(cache_bytes(llama_2_7b, 4096, KvFormat::q4_0), 576 * mib);  // 4.5 bits of 16
  EXPECT_EQ(cache_bytes(llama_2_7b, 4096, KvFormat::q5_1), 768 * mib);  // 6 bits
  EXPECT_EQ(cache_bytes(llama_2_7b, 4096, {KvFormat::q8_0, KvFormat::q4_0}), (1088 + 576) / 2 * mib);
  model::Config odd = llama_2_7b;  // half of a head's only word of scales is empty, and a plane of scales ends within 16 bytes
  odd.layers.assign(1, {.mixer = model::Attention{.heads = 1, .kv_heads = 1, .head_dim = 32}});
  odd.rope_dim = 32;
  EXPECT_EQ(cache_bytes(odd, 75, KvFormat::q8_0), 2u * (128 * 32 + 128 * 4));  // whole pages
  EXPECT_EQ(cache_bytes(odd, 75, {KvFormat::q4_0, KvFormat::q5_1}), 128u * (16 + 4) + 128u * (16 + 8));
}

}  // namespace
}  // namespace skipstone::exec
