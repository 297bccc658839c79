#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "fuzz/mutator.h"

namespace skipstone::fuzz {
namespace {

/// Notes fields while it goes through the bytes; every step says whether the bytes sufficed.
class Scanner {
 public:
  Scanner(std::string_view bytes, Layout& layout) : bytes_(bytes), layout_(layout) {}

  std::size_t at() const { return at_; }
  bool ends() const { return at_ >= bytes_.size(); }

  std::optional<std::uint64_t> number(std::size_t size) {
    if (size > bytes_.size() - at_) return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, size);
    layout_.fields.push_back({at_, size, Coding::little_endian, 0});
    at_ += size;
    return value;
  }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    const std::size_t begin = at_;
    for (unsigned shift = 0; at_ < bytes_.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 127u) << shift;
      if (byte >= 128) continue;
      layout_.fields.push_back({begin, at_ - begin, Coding::varint, 0});
      return value;
    }
    return std::nullopt;
  }

  /// Text after its length, which was the last field.
  bool text(std::uint64_t length) {
    if (length > bytes_.size() - at_) return false;
    layout_.fields.push_back({at_, static_cast<std::size_t>(length), Coding::text, layout_.fields.size() - 1});
    at_ += static_cast<std::size_t>(length);
    return true;
  }

  bool skip(std::uint64_t length) {
    if (length > bytes_.size() - at_) return false;
    at_ += static_cast<std::size_t>(length);
    return true;
  }

 private:
  std::string_view bytes_;
  Layout& layout_;
  std::size_t at_ = 0;
};

bool gguf_string(Scanner& in) {
  const auto length = in.number(8);
  return length && in.text(*length);
}

bool gguf_value(Scanner& in, std::uint64_t type) {
  constexpr std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};  // by value type; 8 is a string, 9 an array
  if (type == 8) return gguf_string(in);
  if (type >= std::size(sizes)) return false;
  if (type != 9) return in.number(sizes[type]).has_value();
  const auto element = in.number(4);
  const auto count = in.number(8);
  if (!element || !count || *element == 9) return false;
  for (std::uint64_t i = 0; i < *count; ++i) {
    if (!gguf_value(in, *element)) return false;
  }
  return true;
}

bool gguf_tensor(Scanner& in) {
  if (!gguf_string(in)) return false;
  const auto dimensions = in.number(4);
  if (!dimensions || *dimensions > 8) return false;
  for (std::uint64_t i = 0; i < *dimensions; ++i) {
    if (!in.number(8)) return false;
  }
  return in.number(4) && in.number(8);
}

}  // namespace

Layout gguf_layout(std::string_view bytes) {
  Layout layout;
  Scanner in(bytes, layout);
  if (!in.number(4) || !in.number(4)) return layout;
  const auto tensors = in.number(8), pairs = in.number(8);
  if (!tensors || !pairs) return layout;
  for (std::uint64_t i = 0; i < *pairs; ++i) {
    const std::size_t begin = in.at();
    if (!gguf_string(in)) return layout;
    const auto type = in.number(4);
    if (!type || !gguf_value(in, *type)) return layout;
    layout.records.push_back({begin, in.at()});
  }
  for (std::uint64_t i = 0; i < *tensors; ++i) {
    const std::size_t begin = in.at();
    if (!gguf_tensor(in)) return layout;
    layout.records.push_back({begin, in.at()});
  }
  return layout;
}

Layout sentencepiece_layout(std::string_view bytes) {
  Layout layout;
  Scanner in(bytes, layout);
  std::size_t message_end = bytes.size();  // of the message within the model that is being read
  bool inside = false;
  while (!in.ends()) {
    const std::size_t begin = in.at();
    const auto key = in.varint();
    if (!key) return layout;
    const std::uint64_t wire = *key & 7u;
    if (wire == 2) {
      const auto length = in.varint();
      if (!length || *length > bytes.size() - in.at()) return layout;
      if (inside) {
        in.text(*length);
      } else {
        inside = true;
        message_end = in.at() + static_cast<std::size_t>(*length);
        layout.records.push_back({begin, message_end});
      }
    } else if (wire == 0 ? !in.varint() : wire == 5 ? !in.number(4) : wire == 1 ? !in.number(8) : true) {
      return layout;
    }
    inside = inside && in.at() < message_end;
  }
  return layout;
}

Layout safetensors_layout(std::string_view bytes) {
  Layout layout;
  Scanner in(bytes, layout);
  if (const auto length = in.number(8)) in.text(*length);
  return layout;
}

Layout words_layout(std::string_view bytes) {
  Layout layout;
  Scanner in(bytes, layout);
  for (std::size_t i = 0; i < 64 && in.number(4); ++i) {
  }
  return layout;
}

}  // namespace skipstone::fuzz
