#include <algorithm>
#include <array>

#include "model/architecture.h"

namespace skipstone::model {

namespace {

constexpr LayerSpec with_head_norms{.qk_norm = QkNorm::head};
constexpr LayerSpec fused{.fused_qkv = true, .fused_gate_up = true};
constexpr LayerSpec gemma2_layer{.norm_after = Norm::rms, .mlp = Mlp::gated_gelu};
constexpr LayerSpec gemma3_layer{.norm_after = Norm::rms, .qk_norm = QkNorm::head, .mlp = Mlp::gated_gelu};
constexpr LayerSpec glm4_layer{.norm_after = Norm::rms, .fused_gate_up = true};
constexpr LayerSpec olmo2_layer{.norm_before = Norm::none, .norm_after = Norm::rms, .qk_norm = QkNorm::width};
constexpr LayerSpec exaone4_layer{.norm_before = Norm::none, .norm_after = Norm::rms, .qk_norm = QkNorm::head};
constexpr LayerSpec starcoder2_layer{.norm_before = Norm::layer, .mlp = Mlp::gelu};

// GGUF stores the Q and K of some families permuted so that rotary pairs are neighbours (the pairing of RoFormer, Su et al. 2021, section
// 3.2.2); the others keep Hugging Face's halves. What a row does not say is Llama's.
constexpr std::array rows{
    Architecture{.name = "llama"},
    Architecture{.name = "exaone4", .rope_pairs = RopePairs::halves, .layer = exaone4_layer, .unrotated_full = true},
    // Gemma 2 (arXiv 2408.00118), section 2: windows on every other layer, softcaps. Its 27B scales scores by another width than the head's.
    Architecture{.name = "gemma2",
                 .rope_pairs = RopePairs::halves,
                 .layer = gemma2_layer,
                 .honours = honours_softcaps | needs_softcaps,
                 .full_every = 2,
                 .scaled_embedding = true,
                 .width_scaled_layers = 46},
    // Gemma 3 (arXiv 2503.19786), section 2.1: five layers with a window to one without, a rotary base for each kind.
    Architecture{.name = "gemma3",
                 .rope_pairs = RopePairs::halves,
                 .layer = gemma3_layer,
                 .honours = honours_softcaps,
                 .full_every = 6,
                 .local_rope_base = 10000.0f,
                 .scaled_embedding = true,
                 .width_scaled_layers = 62},
    Architecture{.name = "glm4", .layer = glm4_layer, .biases = Biases::qkv},
    Architecture{.name = "granite", .honours = honours_scales},
    Architecture{.name = "mistral3", .honours = honours_temperature},
    Architecture{.name = "olmo2", .rope_pairs = RopePairs::halves, .layer = olmo2_layer},
    Architecture{.name = "phi3", .rope_pairs = RopePairs::halves, .layer = fused, .honours = honours_long_rope},
    Architecture{.name = "qwen2", .rope_pairs = RopePairs::halves, .biases = Biases::qkv},
    Architecture{.name = "qwen3", .rope_pairs = RopePairs::halves, .layer = with_head_norms},
    Architecture{.name = "smollm3", .unrotated_every = 4},
    Architecture{.name = "starcoder2", .rope_pairs = RopePairs::halves, .layer = starcoder2_layer, .biases = Biases::all},
};

}  // namespace

std::span<const Architecture> architectures() { return rows; }

const Architecture* find_architecture(std::string_view name) {
  const auto row = std::ranges::find(rows, name, &Architecture::name);
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace skipstone::model
