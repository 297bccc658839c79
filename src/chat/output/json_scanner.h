// Finds the end of a JSON value in a text that is still being written. Every byte is read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace skipstone::chat {

/// Scans structure alone: numbers and words are left for the parser of the complete value to check.
class JsonScanner {
 public:
  JsonScanner() = default;
  /// `tolerant`: damage that does not hide where a value ends is scanned over, which is control characters in strings and commas in front
  /// of a closing bracket.
  explicit JsonScanner(bool tolerant) : tolerant_(tolerant) {}

  enum class Status { more, done, failed };

  /// A member of the outermost object: where its parts are, as offsets into the text.
  struct Member {
    std::size_t key = 0, key_end = 0;  ///< with the quotes
    std::size_t value = 0;             ///< 0: not reached yet
    std::size_t value_end = 0;         ///< 0: still open
  };

  /// `text`: all from the value's first byte on, which is '{' or '['; it may have grown since the last call. After `done`, at() is past
  /// the value; after `failed`, it is the invalid byte.
  Status scan(std::string_view text);

  std::size_t at() const { return at_; }

  /// Where the first damage is that was scanned over; npos: there is none.
  std::size_t damaged_at() const { return damaged_at_; }

  /// At most 16; further ones are not kept.
  const std::vector<Member>& members() const { return members_; }

 private:
  enum class Expect { value, value_or_end, key, key_or_end, colon, comma_or_end };

  bool step(char byte);
  bool begin_value(char byte);
  bool open(char byte);
  bool close(char byte);
  void end_value(std::size_t after);
  /// False where damage at `at` is not tolerated.
  bool tolerate(std::size_t at);
  bool in_object() const { return (objects_ >> (depth_ - 1) & 1) != 0; }

  static constexpr int deepest = 32;  ///< arguments of tools have a few levels

  bool tolerant_ = false;
  std::size_t at_ = 0, comma_ = 0, damaged_at_ = std::string_view::npos;
  int depth_ = 0;
  std::uint64_t objects_ = 0;  ///< bit n: the open container at depth n + 1 is an object
  Expect expect_ = Expect::value;
  bool in_string_ = false, escaped_ = false, in_word_ = false, key_string_ = false, done_ = false;
  std::vector<Member> members_;
};

}  // namespace skipstone::chat
