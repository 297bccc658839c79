// The model unigram of N-Grammys: which tokens are likely anywhere, by the model's input embeddings alone.
// Stewart et al., 2024 (arXiv 2411.03786), section 3; Oyama et al., "Norm of Word Embedding Encodes Information Gain", EMNLP 2023
// (arXiv 2212.09663), for why.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sample/sampler.h"

namespace skipstone::speculation {

/// The embeddings of the tokens first, first + 1, ...: count * width floats, which have to stay until the next call.
using EmbeddingReader = std::function<std::span<const float>(std::uint32_t first, std::uint32_t count)>;

/// The `count` tokens x with the smallest d(x) = ||u_x - mean(u)|| in the norm of the embeddings' covariance C, ||v||^2 = v' C v; the
/// smallest, hence likeliest, first, ties to the lower id. Reads all embeddings three times, at most 256 at once, and takes
/// 2 * vocabulary * width^2 multiplications and width^2 floats. `progress` gets 0..1.
std::vector<sample::Token> unigram_ranking(std::uint32_t vocabulary, std::uint32_t width, std::uint32_t count, const EmbeddingReader& read,
                                           const std::function<void(double)>& progress);

}  // namespace skipstone::speculation
