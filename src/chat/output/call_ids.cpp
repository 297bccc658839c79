#include "chat/output/call_ids.h"

#include <algorithm>

#include "base/hash.h"

namespace skipstone::chat {
namespace {

constexpr std::string_view characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

}  // namespace

CallIds::CallIds(const OutputFormat& format, std::uint64_t seed, const std::optional<std::vector<std::string>>& used)
    : format_(format), seed_(seed), unique_(used.has_value()) {
  if (used) used_.insert(used->begin(), used->end());
}

bool CallIds::fits(std::string_view id) const {
  if (id.empty() || !unique_) return !id.empty();
  const bool short_form =
      format_.id_length == 0 || (id.size() == format_.id_length && id.find_first_not_of(characters) == std::string_view::npos);
  return short_form && !used_.contains(id);
}

std::string CallIds::made_up(const Call& call, std::uint64_t seed) const {
  if (format_.name_is_id && !call.id.empty()) return call.id.substr(0, call.id.rfind(':')) + ":" + std::to_string(seed);
  std::string id = format_.id_length == 0 ? "call_" : "";
  for (unsigned i = 0; i < (format_.id_length == 0 ? 24 : format_.id_length); ++i)
    id += characters[split_mix(seed + i) % characters.size()];
  return id;
}

std::string CallIds::next(const Call& call, std::size_t place) {
  std::string id = unique_ && format_.id_is_index ? std::string() : call.id;
  const bool counted = format_.name_is_id && !call.id.empty();  // the number after the name counts the conversation's calls
  std::uint64_t seed = counted ? used_.size() : split_mix(seed_ ^ split_mix(place));
  for (; !fits(id); ++seed) id = made_up(call, seed);
  if (unique_) used_.insert(id);
  return id;
}

}  // namespace skipstone::chat
