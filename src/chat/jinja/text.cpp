#include "chat/jinja/text.h"

#include <algorithm>

#include "base/status.h"
#include "chat/jinja/guard.h"

namespace skipstone::chat::jinja {

Text::Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)), origin_(origin) { check_room(0); }

void Text::check_room(std::size_t more) const {
  constexpr std::size_t most = Limits{}.text_bytes;
  if (more > most || memory() + more > most)
    fail(Code::invalid_argument, "a text of the template would be longer than {} MiB", most >> 20U);
}

Origin Text::origin_at(std::size_t byte) const {
  if (runs_.empty()) return origin_;
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), byte, [](std::size_t at, const Run& r) { return at < r.end; });
  return run == runs_.end() ? runs_.back().origin : run->origin;
}

std::vector<Text::Run> Text::runs() const {
  if (!runs_.empty() || empty()) return runs_;
  return {Run{static_cast<std::uint32_t>(size()), origin_}};
}

void Text::add_run(std::size_t end, Origin origin) {
  if (end == 0) return;
  const std::size_t before = runs_.empty() ? bytes_.size() : runs_.back().end;
  if (before == 0) {
    origin_ = origin;
    return;
  }
  if (runs_.empty()) {
    if (origin == origin_) return;
    runs_.push_back({static_cast<std::uint32_t>(before), origin_});
  }
  if (runs_.back().origin == origin) {
    runs_.back().end = static_cast<std::uint32_t>(end);
  } else {
    runs_.push_back({static_cast<std::uint32_t>(end), origin});
  }
}

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  check_room(bytes.size());
  add_run(bytes_.size() + bytes.size(), origin);
  bytes_.append(bytes);
}

void Text::append(const Text& other) { append_part(other, 0, other.size()); }

void Text::append_part(const Text& other, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  if (other.runs_.empty()) {
    append(std::string_view(other.bytes_).substr(begin, end - begin), other.origin_);
    return;
  }
  check_room(end - begin);
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin, [](std::size_t at, const Run& r) { return at < r.end; });
  for (std::size_t done = begin; done < end; ++run) {
    const std::size_t stop = std::min<std::size_t>(run->end, end);
    append(std::string_view(other.bytes_).substr(done, stop - done), run->origin);
    done = stop;
  }
}

Text Text::part(std::size_t begin, std::size_t end) const {
  Text result;
  result.append_part(*this, begin, end);
  return result;
}

}  // namespace skipstone::chat::jinja
