#include "chat/output/event.h"

#include <utility>

namespace skipstone::chat {

void TrimmedText::emit(EventKind kind, std::string text, const std::string& note) {
  if (text.empty() && note.empty()) return;
  Event event{.kind = kind, .raw = text, .note = note};
  if (kind != EventKind::marker) event.text = std::move(text);
  sink_(event);
}

/// Does not depend on how the blanks were split into chunks.
void TrimmedText::hold(std::string_view raw) {
  held_ += raw;
  while (held_.size() > most_held) {
    emit(trims_front_ ? EventKind::marker : kind_, held_.substr(0, most_held));
    held_.erase(0, most_held);
  }
}

void TrimmedText::put(std::string_view raw, const std::string& note) {
  const std::size_t first = raw.find_first_not_of(blanks_);
  if (first == std::string_view::npos) return hold(raw);
  const std::size_t after = raw.find_last_not_of(blanks_) + 1;
  if (trims_front_) {
    hold(raw.substr(0, first));
    emit(EventKind::marker, std::exchange(held_, {}));
    trims_front_ = false;
    raw.remove_prefix(first);
    emit(kind_, std::string(raw.substr(0, after - first)), note);
    return hold(raw.substr(after - first));
  }
  emit(kind_, std::exchange(held_, {}).append(raw.substr(0, after)), note);
  hold(raw.substr(after));
}

void TrimmedText::trim() {
  emit(EventKind::marker, std::exchange(held_, {}));
  trims_front_ = true;
}

std::string TrimmedText::take_blanks() {
  if (trims_front_) trim();
  trims_front_ = true;
  return std::exchange(held_, {});
}

void TrimmedText::finish(const std::string& note) { emit(trims_front_ ? EventKind::marker : kind_, std::exchange(held_, {}), note); }

}  // namespace skipstone::chat
