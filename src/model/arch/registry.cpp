#include <array>

#include "model/config.h"

namespace skipstone::model {

namespace {

// GGUF stores Llama's Q and K permuted so that rotary pairs are neighbours (the pairing of RoFormer, Su et al. 2021, section 3.2.2).
constexpr std::array rows{
    Architecture{"llama", RopePairs::neighbours},
};

}  // namespace

std::span<const Architecture> architectures() { return rows; }

}  // namespace skipstone::model
