// One request's work: its prompt to tokens, its choices to pieces of an answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/answer.h"
#include "serve/cancellation.h"
#include "serve/generation_request.h"
#include "serve/metrics.h"
#include "skipstone/chat.hpp"
#include "skipstone/skipstone.hpp"

namespace cli::serve {

/// What all requests share. Immutable.
struct Model {
  explicit Model(skipstone::Engine loaded, const std::string& chat_template, const std::string& alias);

  skipstone::Engine engine;
  skipstone::Chat chat;
  std::string name;                 ///< as answers give it
  std::vector<std::string> known_as;  ///< names that a request may give
  std::vector<skipstone_token> end_tokens;
  std::vector<std::string> stop_strings;
  std::uint32_t context = 0;
  std::size_t longest_piece = 1;  ///< bytes that a token can stand for
  double plain_token_ms = 0;  ///< of one token without drafts and company, as measured when the server started
};

/// The sentence of a refusal by the library as a client gets it: a 400 about `field`. Throws ApiError for it, what `work` throws else.
template <typename Work>
auto about(const char* field, const Work& work) {
  try {
    return work();
  } catch (const skipstone::error& error) {
    if (error.status() != SKIPSTONE_INVALID_ARGUMENT && error.status() != SKIPSTONE_UNSUPPORTED) throw;
    const bool of_tools = std::string_view(error.what()).starts_with("tools");
    throw ApiError(400, error.what(), of_tools ? "tools" : field);
  }
}

/// Throws ApiError (400) where a request's texts cannot be a prompt of this context, whatever their tokens: before anyone looks for these.
void check_length(const Model& model, const GenerationRequest& request);

/// Runs `request`. Throws ApiError where the request cannot be answered, skipstone::error where the engine fails or `cancellation` comes before
/// the first pass; a later one ends the answer as its token limit does.
Usage generate(const Model& model, const GenerationRequest& request, std::uint64_t seed, Cancellation& cancellation, Answer& answer,
               Metrics& metrics);

}  // namespace cli::serve
