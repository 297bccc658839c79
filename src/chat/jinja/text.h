// A string that tracks the origin of each of its bytes: the template's own words, or data (messages, tools, options).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skipstone::chat::jinja {

enum class Origin : std::uint8_t { template_text, data };

/// Well-formed UTF-8.
class Text {
 public:
  /// The bytes from the end of the run before to `end`. Neighbours differ in their origins.
  struct Run {
    std::uint32_t end;
    Origin origin;
  };

  Text() = default;
  Text(std::string bytes, Origin origin);

  std::string_view bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  Origin origin_at(std::size_t byte) const;
  /// The runs of the whole text; one for a text of one origin, none for an empty one.
  std::vector<Run> runs() const;
  std::size_t memory() const { return bytes_.size() + runs_.size() * sizeof(Run); }

  /// These throw invalid_argument where the text would pass the limit of a text.
  void append(std::string_view bytes, Origin origin);
  void append(const Text& other);
  void append_part(const Text& other, std::size_t begin, std::size_t end);
  Text part(std::size_t begin, std::size_t end) const;
  Text part(std::size_t begin) const { return part(begin, size()); }

  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  /// Frees spare capacity.
  void shrink() {
    if (bytes_.capacity() > bytes_.size() + bytes_.size() / 4 + 64) bytes_.shrink_to_fit();
  }

 private:
  void check_room(std::size_t more) const;
  void add_run(std::size_t end, Origin origin);

  std::string bytes_;
  Origin origin_ = Origin::template_text;  ///< where runs_ is empty: of all bytes
  std::vector<Run> runs_;                  ///< where there are several origins
};

}  // namespace skipstone::chat::jinja
