#include <charconv>
#include <iterator>

#include "base/poll.h"
#include "base/status.h"
#include "chat/jinja/guard.h"
#include "chat/jinja/template.h"
#include "json/json.h"

namespace skipstone::chat::jinja {
namespace {

/// Handles nlohmann's SAX events; its documents would turn large integers into reals.
class Builder : public SortedJson::json_sax_t {
 public:
  Builder(const std::string& what, Origin origin) : what_(what), origin_(origin) {}

  bool null() override { return add(None{}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override {
    if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return add(static_cast<std::int64_t>(value));
    return add(BigInteger{std::make_shared<const std::string>(std::to_string(value))});
  }
  bool number_float(double value, const std::string& written) override {
    const bool integer = written.find_first_of(".eE") == std::string::npos;
    return integer ? add(BigInteger{std::make_shared<const std::string>(written)}) : add(value);
  }
  bool string(std::string& value) override { return add(make_string(nullptr, std::move(value), origin_)); }
  bool binary(SortedJson::binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open({std::make_shared<Dict>(nullptr), {}, {}}); }
  bool key(std::string& value) override {
    open_.back().key = make_string(nullptr, std::move(value), origin_);
    return true;
  }
  bool end_object() override {
    DictRef dict = std::move(open_.back().dict);
    open_.pop_back();
    return add(std::move(dict));
  }
  bool start_array(std::size_t) override { return open({}); }
  bool end_array() override {
    std::vector<Value> items = std::move(open_.back().items);
    open_.pop_back();
    return add(make_sequence(nullptr, Sequence::Kind::list, std::move(items)));
  }
  bool parse_error(std::size_t byte, const std::string&, const SortedJson::exception& error) override {
    if (dynamic_cast<const SortedJson::parse_error*>(&error) == nullptr) {
      fail_about(what_, Code::invalid_argument, "{}: holds a number that is out of range", what_);
    }
    fail_about(what_, Code::invalid_argument, "{}: is not valid JSON (around byte {})", what_, byte);
  }

  Value take() { return std::move(result_); }

 private:
  struct Open {
    std::shared_ptr<Dict> dict;  ///< null: a list
    Value key;
    std::vector<Value> items;
  };

  bool open(Open next) {
    if (open_.size() >= most_value_depth - 1)
      fail_about(what_, Code::invalid_argument, "{}: its JSON nests deeper than {} levels", what_, most_value_depth - 1);
    open_.push_back(std::move(next));
    return true;
  }

  bool add(Value value) {
    value.origin = origin_;
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (open_.back().dict) {
      open_.back().dict->set(open_.back().key, std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  const std::string& what_;
  Origin origin_;
  std::vector<Open> open_;
  Value result_;
};

/// The bytes of a text, with a poll for cancellation while they are read: within a long string there are no events.
class PolledBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit PolledBytes(const char* at) : at_(at) {}
  reference operator*() const { return *at_; }
  PolledBytes& operator++() {
    ++at_;
    if (--left_ == 0) {
      left_ = stretch;
      poll(stretch / 4);
    }
    return *this;
  }
  bool operator==(const PolledBytes& other) const { return at_ == other.at_; }
  bool operator!=(const PolledBytes& other) const { return at_ != other.at_; }

 private:
  static constexpr std::uint32_t stretch = 16384;
  const char* at_;
  std::uint32_t left_ = stretch;
};

}  // namespace

Value read_json(std::string_view text, const std::string& what, Origin origin) {
  Builder builder(what, origin);
  SortedJson::sax_parse(PolledBytes(text.data()), PolledBytes(text.data() + text.size()), &builder);
  return builder.take();
}

}  // namespace skipstone::chat::jinja
