// Profile files: a skip set that was found for a model, with the constants to draft with and how it was found. JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "json/json_fwd.h"
#include "speculation/search/round_model.h"

namespace skipstone::speculation::search {

struct Profile {
  /// Results of real rounds, interleaved with plain decoding and with ASD's; medians over prompts.
  struct Measured {
    double speedup = 0, acceptance = 0, tokens_per_round = 0;
    std::uint32_t prompts = 0, runs = 0;
  };
  /// How it was found.
  struct Origin {
    std::string strategy;                    ///< "bayes", "asd", "random", "start"
    std::string prompts_name, prompts_hash;  ///< the file as it was named, and a hash of the texts
    std::uint32_t prompts = 0, tokens = 0;   ///< texts that sets were scored on, and most tokens of each
    std::uint32_t evaluations = 0;           ///< of sets, all strategies together
    std::uint64_t seed = 0;
    double seconds = 0;
    std::string device, driver;
  };

  std::string model_name, fingerprint;  ///< of the model file
  std::uint32_t layers = 0;
  std::string skip_set;  ///< LayerPlan notation
  DraftConstants constants;
  Expected expected;                 ///< from the search
  std::optional<Measured> measured;  ///< nothing where the search was stopped before
  Origin origin;
};

std::string print(const Profile& profile);

/// As --draft takes it: "skip:attn:3;mlp:5,k=4,...".
std::string specification(const std::string& skip_set, const DraftConstants& constants);

/// Throws bad_file, naming `path` and what is wrong.
Profile parse_profile(const std::string& text, const std::string& path);

/// Throws not_found or io where the file cannot be read, bad_file where it is no profile.
Profile read_profile(const std::string& path);
/// The file has its name only when it is complete. Throws io.
void write_profile(const Profile& profile, const std::string& path);

/// Throws invalid_argument where `path` belongs to another model.
void check_model(const Profile& profile, const std::string& path, std::string_view fingerprint, std::uint32_t layers);

/// A file of at most 16 MiB. Throws not_found or io.
std::string read_text_file(const std::string& path, const char* what);

Json to_json(const DraftConstants& constants);
Json to_json(const Expected& expected);
/// Throw nlohmann's exceptions where a field is missing, bad_file where a value is out of its range.
DraftConstants constants_from(const Json& object);
Expected expected_from(const Json& object);

}  // namespace skipstone::speculation::search
