// Jacobi decoding: all of the next tokens are guessed at once, and every pass replaces each guess by the model's choice after the guesses
// before it. The fixed point is the text of plain decoding.
// Santilli et al., "Accelerating Transformer Inference for Translation via Parallel Decoding", ACL 2023 (arXiv 2305.10427).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "speculation/drafter.h"
#include "speculation/options.h"

namespace skipstone::speculation {

/// The guesses that a round leaves: after its first wrong draft the model chose what would follow if the drafts were right, place by place,
/// and its own token took the wrong draft's place.
std::vector<Token> jacobi_guesses(const RoundResult& result);

}  // namespace skipstone::speculation
