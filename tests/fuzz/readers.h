// Every reader of files, with files that it takes: what mutations and fuzzers damage.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fuzz/mutator.h"

namespace skipstone::fuzz {

struct Reader {
  const char* name;
  const char* file;  ///< the name, in its folder, of the file that is damaged
  Kind kind;
  std::vector<std::string> (*seeds)();         ///< sound files
  void (*prepare)(const std::string& folder);  ///< writes what is read beside it; null for nothing
  void (*read)(const std::string& folder);     ///< all of it; throws skipstone::Error for a file that is refused
};

/// Models and checkpoints.
std::span<const Reader> model_readers();
/// What Skipstone itself writes and reads again: profiles, states of searches, caches; and prompts.
std::span<const Reader> state_readers();
/// Grammars, schemas, regular expressions.
std::span<const Reader> grammar_readers();

/// All of them.
std::vector<Reader> all_readers();

/// Puts `bytes` in the place of the reader's file and reads. True where the file is taken, false where it is refused with a sentence;
/// throws std::logic_error for an Error without one, and lets every other exception through.
bool read(const Reader& reader, const std::string& folder, const std::string& bytes);

}  // namespace skipstone::fuzz
