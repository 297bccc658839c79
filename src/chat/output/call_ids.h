// The ids of an answer's calls.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chat/output/call.h"
#include "chat/output/output_format.h"

namespace skipstone::chat {

class CallIds {
 public:
  /// `used`: ids of the conversation so far, so that none of the answer is among them; nothing: ids that the model writes are kept.
  CallIds(const OutputFormat& format, std::uint64_t seed, const std::optional<std::vector<std::string>>& used);

  /// The id of the next call, which begins at byte `place` of the answer: the model's own where it has one that can be used.
  std::string next(const Call& call, std::size_t place);

 private:
  bool fits(std::string_view id) const;
  std::string made_up(const Call& call, std::uint64_t seed) const;

  const OutputFormat& format_;
  const std::uint64_t seed_;
  const bool unique_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace skipstone::chat
