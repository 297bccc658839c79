#include "chat/output/answer_stops.h"

#include "chat/output/markers.h"

namespace skipstone::chat {

std::string AnswerStops::push(char byte) {
  skips_blanks_ = skips_blanks_ && blanks.find(byte) != std::string_view::npos;
  if (skips_blanks_) return std::string(1, byte);
  std::string certain = watching_.push({&byte, 1});
  held_ += byte;
  held_.erase(0, certain.size());
  if (stopped()) found_ = std::exchange(held_, {});
  return certain;
}

std::string AnswerStops::release() {
  if (!held_.empty()) watching_ = fresh_;
  return std::exchange(held_, {});
}

}  // namespace skipstone::chat
