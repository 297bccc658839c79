// A conversation in a file: its tokens, and their keys and values as they are in the cache, so that it continues with the same text.
//
// Layout: the bytes "SKIPCONV", the version (u32) and the header's bytes (u32), all numbers little-endian; the header, a JSON object with
// everything that the keys and values depend on, the tokens, which of them were read as prompts, and how many pages were released, of each
// kind that releases any; KvBytes of each layer; a hash (u64) of all of it.
#pragma once

#include <string>
#include <vector>

#include "base/input_file.h"
#include "engine/engine_state.h"
#include "speculation/token_history.h"

namespace skipstone::engine {

struct Conversation {
  speculation::TokenHistory text;
  std::size_t prompt_end = 0;    ///< tokens from here on are a continuation
  bool layers_left_out = false;  ///< for some of its tokens, by a lossy drafter
};

/// Throws io with the path and the reason; an existing file under that name is kept then.
void save_conversation(const std::string& path, const Engine::State& engine, const exec::SequenceMemory& pages,
                       const Conversation& conversation);

/// Opens and checks a file before any state of a sequence changes.
class SavedConversation {
 public:
  /// Throws not_found, io, bad_file if it is damaged or another kind of file, invalid_argument if it was saved with another model, device,
  /// driver, context or precision of the cache: passes would add keys and values that do not match the saved ones.
  SavedConversation(const std::string& path, const Engine::State& engine);

  const Conversation& conversation() const { return conversation_; }
  /// Writes keys and values into the cache of `passes`. Throws as the constructor does if the file has changed meanwhile.
  void restore(const Engine::State& engine, exec::Executor& passes) const;

 private:
  template <typename Visit>
  void read_layers(const Engine::State& engine, const Visit& visit) const;
  std::uint64_t layer_bytes(const Engine::State& engine, std::uint32_t layer) const;

  InputFile file_;
  std::uint32_t layers_ = 0;
  exec::ByKind<std::uint32_t> released_;
  std::uint32_t state_ = 0;  ///< position of its state of recurrent layers; 0: none
  std::uint64_t header_end_ = 0;
  std::string header_;
  Conversation conversation_;
};

}  // namespace skipstone::engine
