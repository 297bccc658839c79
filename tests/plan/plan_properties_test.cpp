// What plans have to be, whatever the family and the kind of pass: which dispatches a family adds to Llama's, what a pass leaves out of the
// full one, who reads the weights, and how the residual stream goes through the layers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel_table.h"
#include "plan/family_layers.h"
#include "plan/plans.h"

namespace skipstone::exec {
namespace {

using kernels::Dispatch;
using kernels::KernelId;
using kernels::Resource;
using kernels::ResourceKind;
using Words = std::vector<std::string>;

/// The dispatches of the `index`-th layer of the pass; of the output for the index after the last one.
std::span<const Dispatch> part_of(const Plan& plan, std::size_t index) {
  const std::size_t begin = plan.layer_starts.at(index);
  const std::size_t end = index + 1 < plan.layer_starts.size() ? plan.layer_starts[index + 1] : plan.dispatches.size();
  return std::span(plan.dispatches).subspan(begin, end - begin);
}

/// Labels without their "blk.N.", joined by spaces.
std::string labels(std::span<const Dispatch> dispatches) {
  std::string text;
  for (const Dispatch& dispatch : dispatches) {
    const std::string& label = dispatch.label;
    const std::size_t from = label.starts_with("blk.") ? label.find('.', 4) + 1 : 0;
    text += (text.empty() ? "" : " ") + label.substr(from);
  }
  return text;
}
std::string labels(const Plan& plan, std::size_t index) { return labels(part_of(plan, index)); }

Words whole_labels(std::span<const Dispatch> dispatches) {
  Words words;
  for (const Dispatch& dispatch : dispatches) words.push_back(dispatch.label);
  return words;
}

std::map<std::string, int> kernels_of(const Plan& plan) {
  std::map<std::string, int> counts;
  for (const Dispatch& dispatch : plan.dispatches) ++counts[std::string(kernels::info(dispatch.kernel).name)];
  return counts;
}

/// Everything but the buffers of the residual stream, which depend on how many mixers and MLPs ran before.
void expect_equal(const Dispatch& got, const Dispatch& wanted) {
  const auto is_residual = [](const Resource& r) { return r.kind == ResourceKind::residual || r.kind == ResourceKind::kept; };
  EXPECT_EQ(got.label, wanted.label);
  EXPECT_EQ(got.kernel, wanted.kernel) << got.label;
  EXPECT_EQ(got.constants, wanted.constants) << got.label;
  EXPECT_EQ(got.push, wanted.push) << got.label;
  EXPECT_EQ(got.groups, wanted.groups) << got.label;
  ASSERT_EQ(got.operands.size(), wanted.operands.size()) << got.label;
  for (std::size_t i = 0; i < got.operands.size(); ++i) {
    const kernels::Operand &a = got.operands[i], &b = wanted.operands[i];
    EXPECT_EQ(a.access, b.access) << got.label;
    EXPECT_TRUE(a.resource == b.resource || (is_residual(a.resource) && is_residual(b.resource))) << got.label << " operand " << i;
  }
}
void expect_equal(std::span<const Dispatch> got, std::span<const Dispatch> wanted) {
  ASSERT_EQ(whole_labels(got), whole_labels(wanted));
  for (std::size_t i = 0; i < got.size(); ++i) expect_equal(got[i], wanted[i]);
}

/// Each dispatch that reads the residual stream reads what was last written to it, and none writes the buffer that it reads; keep_rows
/// copies it.
void expect_residual_stream(const Plan& plan) {
  Resource current = plan.spec.layers.begin > 0 ? Resource{ResourceKind::kept} : Resource{};
  for (const Dispatch& dispatch : plan.dispatches) {
    const bool cosine = dispatch.kernel == KernelId::cosine;  // reads the streams before and after a mixer or MLP
    Resource written{};
    for (const kernels::Operand& operand : dispatch.operands) {
      if (operand.resource.kind != ResourceKind::residual && operand.resource.kind != ResourceKind::kept) continue;
      if (operand.access == vk::Access::read && !cosine) {
        EXPECT_EQ(operand.resource, current) << dispatch.label;
      }
      if (operand.access != vk::Access::read && operand.resource.kind == ResourceKind::residual) written = operand.resource;
    }
    if (written.kind != ResourceKind::residual) continue;
    EXPECT_FALSE(accesses(dispatch, written, false)) << dispatch.label << " reads what it writes";
    current = written;
  }
  EXPECT_EQ(plan.handed_on, current);
}

/// Each weight of the model is read; those of a layer by its dispatches alone.
void expect_weights_read(const Plans& plans, const Plan& plan) {
  std::set<std::uint32_t> read;
  const std::vector<std::uint32_t>& first = plans.weights().first_tensors;
  for (std::size_t part = 0; part < plan.layer_starts.size(); ++part) {
    for (const Dispatch& dispatch : part_of(plan, part)) {
      for (const kernels::Operand& operand : dispatch.operands) {
        if (operand.resource.kind != ResourceKind::weight) continue;
        const std::uint32_t tensor = operand.resource.index;
        EXPECT_EQ(operand.access, vk::Access::read) << dispatch.label;
        const bool of_layers = tensor >= first.front() && tensor < first.back();
        if (part + 1 < plan.layer_starts.size()) {
          EXPECT_TRUE(tensor >= first[part] && tensor < first[part + 1]) << dispatch.label << " reads " << plans.weights().name(tensor);
        } else {
          EXPECT_FALSE(of_layers) << dispatch.label << " reads " << plans.weights().name(tensor);
        }
        read.insert(tensor);
      }
    }
  }
  for (std::size_t i = 0; i < plan.layer_starts.front(); ++i) {
    for (const kernels::Operand& operand : plan.dispatches[i].operands) {
      if (operand.resource.kind == ResourceKind::weight) read.insert(operand.resource.index);
    }
  }
  for (std::uint32_t tensor = 0; tensor < plans.weights().tensors.size(); ++tensor) {
    EXPECT_TRUE(read.contains(tensor)) << plans.weights().name(tensor) << " is not read";
  }
}

/// The family's tiny model, with as many layers as it has kinds.
fixtures::TinyConfig tiny_of(const model::Architecture& row) {
  fixtures::TinyConfig tiny = two_layers(gguf::Type::q8_0);
  tiny.architecture = row.name;
  tiny.keys = fixtures::tiny_family(row.name).keys;
  tiny.experts = fixtures::tiny_family(row.name).experts;
  tiny.token_input = fixtures::tiny_family(row.name).token_input;
  if (row.window_heads) tiny.layers = fixtures::tiny_family(row.name).layers;
  if (row.unrotated_every > 0 || row.full_every > 0) tiny.layers = std::max(row.unrotated_every, row.full_every);
  for (const gguf::Pair& pair : tiny.keys) {
    if (const auto* array = std::get_if<std::shared_ptr<const gguf::Array>>(&pair.value))
      tiny.layers = static_cast<std::uint32_t>((*array)->size());
  }
  return tiny;
}

/// The layer's dispatches where it lacks matrices of K and V.
std::string with_own_matrices(std::string layer, const model::Attention& attention) {
  const std::string all = "attn_qkv";
  if (!attention.kv_source && !attention.keys_as_values) return layer;
  return layer.replace(layer.find(all), all.size(), attention.kv_source ? "attn_q" : "attn_qk");
}

std::string without_rotation(std::string layer) {
  const std::string rotating = "rope_store";
  return layer.replace(layer.find(rotating), rotating.size(), "store");
}

TEST(PlanProperties, OfAllFamilies) {
  for (const model::Architecture& row : model::architectures()) {
    SCOPED_TRACE(row.name);
    const auto* own = std::ranges::find(family_layers, row.name, &FamilyLayer::family);
    const FamilyLayer wanted = own == std::end(family_layers) ? FamilyLayer{row.name, llama_layer} : *own;
    const Plans plans(tiny_of(row), nvidia_like());
    const Plan plan = plans.build({.layers = plans.layers()});
    const std::uint32_t layers = plans.config().layer_count();
    const int all = static_cast<int>(layers);
    ASSERT_EQ(plan.layer_starts.size(), layers + 1);
    const bool token_inputs = plans.config().token_input() != 0;
    EXPECT_EQ(labels(std::span(plan.dispatches).first(plan.layer_starts.front())),
              token_inputs ? "embed token_embed token_projection token_inputs" : "embed");
    for (std::uint32_t layer = 0; layer < layers; ++layer) {
      const model::LayerConfig& config = plans.config().layers[layer];
      const auto* attention = std::get_if<model::Attention>(&config.mixer);
      std::string text(attention != nullptr ? wanted.dispatches : config.has_mixer() ? wanted.recurrent : wanted.mlp);
      if (attention != nullptr) text = with_own_matrices(std::move(text), *attention);
      EXPECT_EQ(labels(plan, layer), attention == nullptr || attention->rotates ? text : without_rotation(text)) << layer;
    }
    EXPECT_EQ(labels(plan, layers), wanted.output);
    for (const Dispatch& dispatch : plan.dispatches) {
      if (dispatch.kernel == KernelId::rope_store) {
        EXPECT_EQ(dispatch.constants[3], row.rope_pairs == model::RopePairs::halves ? 1u : 0u);
      }
    }
    expect_residual_stream(plan);
    expect_weights_read(plans, plan);
    if (wanted.dispatches == llama_layer && wanted.recurrent.empty()) {
      EXPECT_EQ(kernels_of(plan), (std::map<std::string, int>{{"argmax_merge", 1},
                                                              {"attention", all},
                                                              {"attention_merge", all},
                                                              {"embed_q8_0", 1},
                                                              {"matvec_q8_0", 4 * all + 1},
                                                              {"rope_store", all}}));
    }
  }
}

TEST(PlanProperties, ExpertsMayHaveNormsOfTheirOwn) {
  const Plans plans(fixtures::tiny_gemma4_with_experts(), nvidia_like());
  const Plan plan = plans.build({.layers = plans.layers()});
  EXPECT_EQ(labels(plan, 0),
            "attn_qkv qk_norm rope_store attention attention.merge attn_output post_attention_norm ffn_gate_up ffn_down post_ffw_norm_1 "
            "router_norm ffn_router route group_experts pre_ffw_norm_2 expert_gate_up expert_geglu expert_down combine_experts "
            "post_ffw_norm_2 post_ffw_norm");
  const PassSpec prompt{.layers = plans.layers(), .bucket = 64, .prompt = true, .last_row_only = true};
  for (const Plan& each : {plan, plans.build(prompt)}) {
    expect_residual_stream(each);
    expect_weights_read(plans, each);
  }
}

TEST(PlanProperties, OfFamiliesInPromptsAndDrafts) {
  for (const model::Architecture& row : model::architectures()) {
    SCOPED_TRACE(row.name);
    for (const vk::Caps& caps : {lavapipe_like(), nvidia_like()}) {
      const Plans plans(tiny_of(row), caps);
      for (const PassSpec& spec :
           {PassSpec{.layers = plans.layers(), .bucket = 64, .prompt = true, .last_row_only = true, .cosines = Cosines::all},
            PassSpec{.layers = plans.layers(), .bucket = 8, .output = Output::logits, .tree = true}}) {
        const Plan plan = plans.build(spec);
        expect_residual_stream(plan);
        expect_weights_read(plans, plan);
      }
    }
  }
}

// A pass that leaves out mixers and MLPs has the dispatches of the others.
TEST(PlanProperties, SkippedSublayersAreLeftOut) {
  const Plans plans(fixtures::TinyConfig{}, lavapipe_like());
  const Plan full = plans.build({.layers = plans.layers()}), skipped = plans.build({.layers = plans.layers("attn:1,2;mlp:0,2")});
  const auto is_mlp = [](const Dispatch& dispatch) { return dispatch.label.find("ffn_") != std::string::npos; };
  std::vector<Dispatch> rest;
  for (std::size_t layer = 0; layer < 4; ++layer) {
    for (const Dispatch& dispatch : part_of(full, layer)) {
      const bool left_out = is_mlp(dispatch) ? layer == 0 || layer == 2 : layer == 1 || layer == 2;
      if (!left_out) rest.push_back(dispatch);
    }
  }
  const std::size_t first = skipped.layer_starts.front(), count = skipped.layer_starts.back() - first;
  expect_equal(std::span(skipped.dispatches).subspan(first, count), rest);
  expect_equal(part_of(skipped, 4), part_of(full, 4));
  expect_residual_stream(skipped);
}

TEST(PlanProperties, EarlyExitsEndSooner) {
  const Plans plans(fixtures::TinyConfig{}, lavapipe_like());
  const Plan full = plans.build({.layers = plans.layers()}), exit = plans.build({.layers = plans.layers("layers:0-1")});
  ASSERT_EQ(exit.layer_starts.size(), 3u);
  for (const std::size_t layer : {0u, 1u}) expect_equal(part_of(exit, layer), part_of(full, layer));
  expect_equal(part_of(exit, 2), part_of(full, 4));
  expect_residual_stream(exit);
  const Plan kept = plans.build({.layers = plans.layers("layers:0-1"), .keep_after = 1});
  ASSERT_EQ(kept.dispatches.size(), exit.dispatches.size() + 1);
  const Dispatch& copy = part_of(kept, 0).back();
  EXPECT_EQ(copy.kernel, KernelId::keep_rows);
  EXPECT_TRUE(accesses(copy, {ResourceKind::kept}, true));
  expect_residual_stream(kept);
}

TEST(PlanProperties, LateLayersStartFromSavedHiddenStates) {
  const Plans plans(two_layers(), lavapipe_like());
  const Plan full = plans.build({.layers = plans.layers(), .bucket = 4}),
             late = plans.build({.layers = plans.layers("layers:1"), .bucket = 4});
  EXPECT_EQ(late.layer_starts.front(), 0u);  // no embedding
  expect_equal(part_of(late, 0), part_of(full, 1));
  expect_equal(part_of(late, 1), part_of(full, 2));
  EXPECT_TRUE(accesses(late.dispatches.front(), {ResourceKind::kept}, false));
  for (const Dispatch& dispatch : late.dispatches) EXPECT_FALSE(accesses(dispatch, {ResourceKind::kept}, true)) << dispatch.label;
  expect_residual_stream(late);
}

TEST(PlanProperties, WindowsAndTreesChangeTheKeysOfAttentionAlone) {
  for (const vk::Caps& caps : {lavapipe_like(), nvidia_like()}) {
    const Plans plans(two_layers(gguf::Type::q8_0), caps);
    for (const bool tree : {false, true}) {
      const std::uint32_t bucket = tree ? 4 : 1;
      const Plan plain = plans.build({.layers = plans.layers(), .bucket = bucket});
      const Plan other = plans.build({.layers = plans.layers(), .bucket = bucket, .tree = tree, .window = !tree});
      ASSERT_EQ(whole_labels(other.dispatches), whole_labels(plain.dispatches));
      std::size_t changed = 0;
      for (std::size_t i = 0; i < plain.dispatches.size(); ++i) {
        Dispatch a = plain.dispatches[i], b = other.dispatches[i];
        const bool reads_keys = a.label.find("attention") != std::string::npos || (tree && a.label.find("rope_store") != std::string::npos);
        if (reads_keys) {
          changed += a.constants != b.constants;
          b.constants = a.constants;
        }
        expect_equal(b, a);
      }
      const std::size_t in_layer = (caps.is_cpu() ? 1 : 2) + (tree ? 1 : 0);
      EXPECT_EQ(changed, 2 * in_layer);
    }
  }
}

TEST(PlanProperties, SamplingNeedsLogitsOrCandidates) {
  const Plans plans(two_layers(gguf::Type::q4_0), lavapipe_like());
  const auto build = [&](Output output) { return plans.build({.layers = plans.layers(), .bucket = 2, .output = output}); };
  const Plan greedy = build(Output::argmax), logits = build(Output::logits), candidates = build(Output::candidates);
  for (const Plan* plan : {&logits, &candidates}) {
    for (const std::size_t layer : {0u, 1u}) expect_equal(part_of(*plan, layer), part_of(greedy, layer));
    EXPECT_TRUE(accesses(part_of(*plan, 2).front(), {ResourceKind::logits}, true));
  }
  EXPECT_EQ(labels(greedy, 2), "output output.merge");
  EXPECT_EQ(labels(logits, 2), "output");
  EXPECT_EQ(labels(candidates, 2), "output candidates.groups candidates");
  EXPECT_TRUE(accesses(candidates.dispatches.back(), {ResourceKind::candidates}, true));
}

TEST(PlanProperties, MatricesOfSeveralBindingsAreReadPartByPart) {
  const Plans plans(two_layers(), nvidia_like(),
                    40'000);  // the embedding, which is the LM head too, and gate and up do not fit one binding
  const Plan plan = plans.build({.layers = plans.layers()});
  EXPECT_EQ(labels(std::span(plan.dispatches).first(plan.layer_starts.front())), "embed.0 embed.1 embed.2");
  EXPECT_EQ(labels(plan, 0), "attn_qkv rope_store attention attention.merge attn_output ffn_gate ffn_up swiglu ffn_down");
  EXPECT_EQ(labels(plan, 2), "output.0 output.1 output.2 output.merge");
  for (std::uint16_t part = 0; part < 3; ++part) {
    const Resource weights{ResourceKind::weight, plans.weights().embedding.tensor, part};
    EXPECT_TRUE(accesses(plan.dispatches[part], weights, false));
    EXPECT_TRUE(accesses(part_of(plan, 2)[part], weights, false));
  }
  expect_residual_stream(plan);
}

TEST(PlanProperties, BiasesAndAnOwnHeadAddNoDispatches) {
  fixtures::TinyConfig tiny = two_layers(gguf::Type::bf16);
  tiny.biases = true;
  tiny.tied = false;
  tiny.heads = tiny.kv_heads = 4;
  const Plans plans(tiny, nvidia_like());
  const Plan plan = plans.build({.layers = plans.layers()});
  EXPECT_EQ(labels(plan, 0), llama_layer);
  EXPECT_EQ(labels(plan, 2), "output output.merge");
  EXPECT_NE(plans.weights().output.tensor, plans.weights().embedding.tensor);
  expect_weights_read(plans, plan);
}

TEST(PlanProperties, PromptsOfAllTiers) {
  vk::Caps matrices = with_matrices(nvidia_like(), {16, 16, 16});
  struct Device {
    vk::Caps caps;
    gguf::Type type;
    const char* kernel;
  };
  for (const auto& [caps, type, kernel] :
       {Device{lavapipe_like(), gguf::Type::f16, "matvec_rows_texels_f16"}, Device{nvidia_like(), gguf::Type::f16, "matmul_half_f16"},
        Device{matrices, gguf::Type::q8_0, "matmul_coopmat_q8_0"}}) {
    SCOPED_TRACE(kernel);
    const Plans plans(two_layers(type), caps);
    const PassSpec last{.layers = plans.layers(), .bucket = 64, .prompt = true, .last_row_only = true, .cosines = Cosines::attention};
    const Plan chunk = plans.build({.layers = plans.layers(), .bucket = 256, .prompt = true, .output = Output::none});
    const Plan end = plans.build(last);
    EXPECT_EQ(kernels_of(chunk)[kernel], 2 * 4) << "Q, K and V; attention's output; gate and up; down";
    EXPECT_EQ(kernels_of(end)["cosine"], 2);
    EXPECT_EQ(kernels_of(end)["cosine_sum"], 1);
    EXPECT_EQ(labels(chunk, 2), "");
    EXPECT_EQ(labels(end, 2), "output_norm output output.merge");
    EXPECT_EQ(part_of(end, 2).front().groups[0], 1u) << "one row";
    for (const Plan* plan : {&chunk, &end}) expect_residual_stream(*plan);
  }
}

TEST(PlanProperties, VerificationsComputeAllRows) {
  const Plans plans(two_layers(), nvidia_like());
  const Plan plan = plans.build({.layers = plans.layers(), .bucket = 4});
  EXPECT_EQ(labels(plan, 0), llama_layer);
  for (const Dispatch& dispatch : plan.dispatches) {
    if (dispatch.kernel == KernelId::rope_store) {
      EXPECT_EQ(dispatch.groups[1], 4u);
    }
    if (dispatch.label == "output.merge") {
      EXPECT_EQ(dispatch.groups[0], 4u);
    }
  }
}

}  // namespace
}  // namespace skipstone::exec
