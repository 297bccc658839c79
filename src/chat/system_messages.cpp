#include "chat/system_messages.h"

#include <utility>

#include "chat/messages.h"

namespace skipstone::chat {

using jinja::Origin;
using jinja::Text;
using jinja::Value;

std::string_view role_of(const Value& message) { return member(message, "role")->string()->bytes(); }

bool is_system(const Value& message) { return role_of(message) == "system" || role_of(message) == "developer"; }

Text text_of(const Value& message) {
  const Value* content = member(message, "content");
  if (content == nullptr) return {};
  if (content->string() != nullptr) return content->string()->text;
  Text all;
  for (const Value& part : content->sequence()->items) all.append(member(part, "text")->string()->text);
  return all;
}

Value with_text(const Value& message, Text text) {
  const Value content = jinja::make_string(nullptr, std::move(text));
  return with_member(message, "content", &content);
}

Value make_message(std::string_view role, Text text) {
  auto message = std::make_shared<jinja::Dict>(nullptr);
  message->set(trusted_text("role"), trusted_text(role));
  message->set(trusted_text("content"), jinja::make_string(nullptr, std::move(text)));
  return jinja::DictRef(std::move(message));
}

namespace {

constexpr std::string_view between = "\n\n";

class Placement {
 public:
  explicit Placement(const Capabilities& can) : can_(can) {}

  void add(const Value& message) {
    if (is_system(message)) return add_system(message);
    if (!can_.system && role_of(message) != "user") join_waiting();  // an answer that is to be continued stays the last message
    placed_.push_back(message);
    if (role_of(message) != "user" || waiting_.empty()) return;
    Text whole = std::exchange(waiting_, Text());
    whole.append(text_of(message));
    placed_.back() = with_text(message, std::move(whole));
  }

  std::vector<Value> take() {
    if (!waiting_.empty()) {
      Text text = waiting_.part(0, waiting_.size() - between.size());
      if (can_.system) {
        add_to_first(text);
      } else if (!join_waiting()) {
        placed_.push_back(make_message("user", std::move(text)));
      }
    }
    if (first_.empty()) return std::move(placed_);
    if (leading_ == 0) {
      placed_.insert(placed_.begin(), make_message("system", std::move(first_)));
    } else {
      Text whole = text_of(placed_[leading_ - 1]);
      whole.append(between, Origin::data);
      whole.append(first_);
      placed_[leading_ - 1] = with_text(placed_[leading_ - 1], std::move(whole));
    }
    return std::move(placed_);
  }

 private:
  void add_system(const Value& message) {
    const bool leading = can_.system && leading_ == placed_.size();
    if (leading && leading_ > 0 && !can_.second_system) return add_to_first(text_of(message));
    if (leading || (can_.system && can_.late_system)) {
      placed_.push_back(message);
      if (leading) ++leading_;
      return;
    }
    waiting_.append(text_of(message));
    waiting_.append(between, Origin::data);
  }

  /// Puts what waits after the text of the last message if that is the user's; false if not.
  bool join_waiting() {
    if (waiting_.empty() || placed_.empty() || role_of(placed_.back()) != "user") return false;
    Text whole = text_of(placed_.back());
    whole.append(between, Origin::data);
    whole.append(waiting_.part(0, waiting_.size() - between.size()));
    placed_.back() = with_text(placed_.back(), std::move(whole));
    waiting_ = Text();
    return true;
  }

  void add_to_first(const Text& text) {
    if (!first_.empty()) first_.append(between, Origin::data);
    first_.append(text);
  }

  const Capabilities& can_;
  std::vector<Value> placed_;
  std::size_t leading_ = 0;  ///< of placed_: system messages at the start
  Text first_;               ///< for the last of these
  Text waiting_;             ///< of system messages for the next user message, an empty line after each
};

}  // namespace

std::vector<Value> place_system_messages(const std::vector<Value>& messages, const Capabilities& can) {
  Placement placement(can);
  for (const Value& message : messages) placement.add(message);
  return placement.take();
}

}  // namespace skipstone::chat
