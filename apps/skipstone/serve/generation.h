// The work on one request: tokenizes its prompt and generates its choices as pieces of an answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/answer.h"
#include "serve/cancellation.h"
#include "serve/choices.h"
#include "serve/generation_request.h"
#include "serve/metrics.h"
#include "skipstone/chat.hpp"
#include "skipstone/skipstone.hpp"
#include "skipstone/skipstone_experimental.h"

namespace cli::serve {

/// State that all requests of a model share. Immutable.
struct Model {
  explicit Model(skipstone::Engine loaded, const std::string& chat_template, const std::string& alias);

  skipstone::Engine engine;
  skipstone::Chat chat;
  std::string name;                   ///< the name in answers
  std::vector<std::string> known_as;  ///< names that a request may give
  std::vector<skipstone_token> end_tokens;
  std::vector<std::string> stop_strings;
  std::uint32_t context = 0, vocabulary = 0;
  std::size_t longest_piece = 1;                           ///< most bytes that a token represents
  skipstone_session_params sampling = default_sampling();  ///< of requests that give no values
};

/// The conversation as the template writes it: the document of skipstone_chat_show(). Throws ApiError (400) with the place in the request
/// of what the library refuses.
std::string show_conversation(const Model& model, const GenerationRequest& request, const std::function<bool()>& keep_going);

/// Throws ApiError (400) if a request's texts cannot fit the context, whatever their tokens: checked before they are tokenized.
void check_length(const Model& model, const GenerationRequest& request);

/// Runs `request`. Throws ApiError if the request cannot be answered, skipstone::error if the engine fails or `cancellation` comes before
/// the first pass; a later cancellation ends the answer like its token limit. `offer`: threads for choices beside the first one.
Usage generate(const Model& model, const GenerationRequest& request, std::uint64_t seed, Cancellation& cancellation, Answer& answer,
               Metrics& metrics, const OfferJob& offer);

}  // namespace cli::serve
