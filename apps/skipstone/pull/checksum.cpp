#include "pull/checksum.h"

#include <fmt/format.h>
#include <sha1.h>
#include <sha2.h>

#include <array>
#include <utility>
#include <variant>

namespace cli::pull {
namespace {

constexpr std::size_t sha256_digits = 64, sha1_digits = 40;

const std::uint8_t* octets(std::span<const std::byte> bytes) { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }

}  // namespace

struct Checksum::Context {
  std::variant<SHA2_CTX, SHA1_CTX> state;
};

bool Checksum::is_one(const std::string& text) {
  return (text.size() == sha256_digits || text.size() == sha1_digits) && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Checksum::Checksum(std::string expected, std::uint64_t bytes) : expected_(std::move(expected)), context_(std::make_unique<Context>()) {
  if (expected_.size() == sha256_digits) {
    SHA256Init(&context_->state.emplace<SHA2_CTX>());
    return;
  }
  SHA1Init(&context_->state.emplace<SHA1_CTX>());
  const std::string head = fmt::format("blob {}", bytes);
  add(std::as_bytes(std::span(head.c_str(), head.size() + 1)));
}

Checksum::Checksum(Checksum&&) noexcept = default;
Checksum& Checksum::operator=(Checksum&&) noexcept = default;
Checksum::~Checksum() = default;

void Checksum::add(std::span<const std::byte> bytes) {
  if (auto* const sha256 = std::get_if<SHA2_CTX>(&context_->state)) return SHA256Update(sha256, octets(bytes), bytes.size());
  SHA1Update(std::get_if<SHA1_CTX>(&context_->state), octets(bytes), bytes.size());
}

bool Checksum::matches() {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  std::size_t size = SHA256_DIGEST_LENGTH;
  if (auto* const sha256 = std::get_if<SHA2_CTX>(&context_->state)) {
    SHA256Final(digest.data(), sha256);
  } else {
    SHA1Final(digest.data(), std::get_if<SHA1_CTX>(&context_->state));
    size = SHA1_DIGEST_LENGTH;
  }
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text == expected_;
}

}  // namespace cli::pull
