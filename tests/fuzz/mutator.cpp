#include "fuzz/mutator.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace skipstone::fuzz {
namespace {

std::string little_endian(std::uint64_t value, std::size_t size) {
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), &value, std::min<std::size_t>(size, 8));
  return bytes;
}

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>((value & 127u) | 128u));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string coded(const Field& field, std::uint64_t value) {
  return field.coding == Coding::varint ? varint(value) : little_endian(value, field.size);
}

std::uint64_t value_of(const std::string& bytes, const Field& field) {
  std::uint64_t value = 0;
  if (field.coding == Coding::little_endian) {
    std::memcpy(&value, &bytes[field.at], std::min<std::size_t>(field.size, 8));
  } else {
    for (std::size_t i = 0; i < field.size && i < 10; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[field.at + i]) & 127u) << (7 * i);
    }
  }
  return value;
}

void change_number(std::string& bytes, const Field& field, Random& random) {
  const std::uint64_t value = hostile_number(value_of(bytes, field), bytes.size(), random);
  bytes.replace(field.at, field.size, coded(field, value));
}

/// With its length told, or not.
void change_text(std::string& bytes, const Layout& layout, const Field& field, Random& random) {
  const std::string text = hostile_text(bytes.substr(field.at, field.size), random);
  bytes.replace(field.at, field.size, text);
  const Field& length = layout.fields[field.length_field];  // before the text: its place has not moved
  if (!random.one_in(4)) bytes.replace(length.at, length.size, coded(length, text.size()));
}

void change_field(std::string& bytes, const Layout& layout, Random& random) {
  if (layout.fields.empty()) return;
  // Half of the changes go to the head, which the tables after it outnumber by far.
  const std::size_t count = random.one_in(2) ? std::min<std::size_t>(layout.fields.size(), 48) : layout.fields.size();
  const Field& field = layout.fields[random.below(count)];
  if (field.coding == Coding::text) {
    change_text(bytes, layout, field, random);
  } else {
    change_number(bytes, field, random);
  }
}

void change_records(std::string& bytes, const Layout& layout, Random& random) {
  if (layout.records.empty()) return change_field(bytes, layout, random);
  const Record& one = random.pick(layout.records);
  const Record& other = random.pick(layout.records);
  const std::string text = bytes.substr(one.begin, one.end - one.begin), another = bytes.substr(other.begin, other.end - other.begin);
  switch (random.below(4)) {
    case 0:
      bytes.erase(one.begin, text.size());
      break;
    case 1:
      bytes.insert(one.begin, text);
      break;
    case 2:
      bytes.replace(one.begin, text.size(), another);
      break;
    default:  // the later one first, so that the other's place still holds
      bytes.replace(std::max(one.begin, other.begin), (one.begin > other.begin ? text : another).size(),
                    one.begin > other.begin ? another : text);
      bytes.replace(std::min(one.begin, other.begin), (one.begin > other.begin ? another : text).size(),
                    one.begin > other.begin ? text : another);
  }
}

void cut(std::string& bytes, const Layout& layout, Random& random) {
  if (!layout.fields.empty() && !random.one_in(3)) {
    const Field& field = random.pick(layout.fields);
    bytes.resize(std::min(bytes.size(), field.at + random.below(field.size + 1)));
  } else {
    bytes.resize(random.below(bytes.size() + 1));
  }
}

void change_bytes(std::string& bytes, Random& random) {
  if (bytes.empty()) return;
  const std::size_t at = random.below(random.one_in(2) ? std::min<std::size_t>(bytes.size(), 1024) : bytes.size());
  switch (random.below(3)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      bytes.erase(at, 1 + random.below(16));
      break;
    default: {
      const std::size_t count = 1 + random.below(16);  // not in the call: there the order of the two is the compiler's
      bytes.insert(at, count, static_cast<char>(random.next()));
    }
  }
}

Layout layout_of(Kind kind, const std::string& bytes) {
  switch (kind) {
    case Kind::gguf:
      return gguf_layout(bytes);
    case Kind::safetensors:
      return safetensors_layout(bytes);
    case Kind::sentencepiece:
      return sentencepiece_layout(bytes);
    default:
      return words_layout(bytes);
  }
}

void mutate_binary(Kind kind, std::string& bytes, Random& random) {
  const Layout layout = layout_of(kind, bytes);
  const std::size_t how = random.below(16);
  if (how < 9) return change_field(bytes, layout, random);
  if (how < 12) return change_records(bytes, layout, random);
  if (how < 13) return cut(bytes, layout, random);
  change_bytes(bytes, random);
}

/// The header as JSON, with its length told or not.
void mutate_safetensors(std::string& bytes, Random& random) {
  const Layout layout = safetensors_layout(bytes);
  if (layout.fields.size() < 2 || random.one_in(4)) return mutate_binary(Kind::safetensors, bytes, random);
  const Field& header = layout.fields[1];
  const std::string changed = mutate_json(bytes.substr(header.at, header.size), random);
  bytes.replace(header.at, header.size, changed);
  if (!random.one_in(8)) bytes.replace(0, 8, little_endian(changed.size(), 8));
}

void mutate_lines(std::string& bytes, Random& random) {
  std::size_t begin = random.below(bytes.size() + 1);
  begin = begin == 0 ? 0 : bytes.rfind('\n', begin - 1);
  begin = begin == std::string::npos ? 0 : begin + (bytes.compare(begin, 1, "\n") == 0 ? 1 : 0);
  const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
  bytes.replace(begin, end - begin, mutate_json(bytes.substr(begin, end - begin), random));
}

}  // namespace

std::string mutate(Kind kind, const std::string& bytes, std::uint64_t seed) {
  Random random(seed);
  std::string changed = bytes;
  for (std::size_t changes = 1 + random.below(3); changes > 0; --changes) {
    switch (kind) {
      case Kind::json:
        changed = mutate_json(changed, random);
        break;
      case Kind::json_lines:
        mutate_lines(changed, random);
        break;
      case Kind::safetensors:
        mutate_safetensors(changed, random);
        break;
      default:
        mutate_binary(kind, changed, random);
    }
  }
  return changed;
}

}  // namespace skipstone::fuzz
