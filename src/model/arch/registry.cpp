#include <array>

#include "model/config.h"

namespace skipstone::model {

namespace {

// GGUF stores Llama's Q and K permuted so that rotary pairs are neighbours (the pairing of RoFormer, Su et al. 2021, section 3.2.2), and
// SmolLM3's. Biases are read where a file has them (Qwen 2).
constexpr std::array rows{
    Architecture{"llama", RopePairs::neighbours},
    Architecture{.name = "phi3", .rope_pairs = RopePairs::halves, .fused = true, .long_rope = true},
    Architecture{"qwen2", RopePairs::halves},
    Architecture{.name = "qwen3", .rope_pairs = RopePairs::halves, .qk_norm = true},
    Architecture{.name = "smollm3", .rope_pairs = RopePairs::neighbours, .unrotated_every = 4},
};

}  // namespace

std::span<const Architecture> architectures() { return rows; }

}  // namespace skipstone::model
