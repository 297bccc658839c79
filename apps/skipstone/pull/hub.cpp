#include "pull/hub.h"

#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "base/env.h"
#include "base/escape.h"
#include "base/number.h"
#include "base/status.h"
#include "json/json.h"
#include "json/parse_json.h"
#include "pull/checksum.h"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli::pull {
namespace {

using skipstone::SortedJson;

constexpr const char* usual_address = "https://huggingface.co";
constexpr std::size_t most_json_bytes = std::size_t{16} << 20;

std::string without_slash(std::string address) {
  if (address.empty()) address = skipstone::env::get("HF_ENDPOINT").value_or(usual_address);
  while (address.ends_with('/')) address.pop_back();
  return address;
}

std::string url_path(const std::string& path) {
  std::string encoded;
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos;
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return encoded;
}

const SortedJson& member(const SortedJson& object, const char* key) {
  static const SortedJson none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

std::string text_member(const SortedJson& object, const char* key) {
  const SortedJson& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

/// An entry of "siblings".
RemoteFile file_of(const SortedJson& entry) {
  RemoteFile file{text_member(entry, "rfilename"), "", 0};
  const SortedJson& large = member(entry, "lfs");
  for (const std::string& checksum : {text_member(large, "sha256"), text_member(large, "oid"), text_member(entry, "blobId")}) {
    if (file.checksum.empty() && Checksum::is_one(checksum)) file.checksum = checksum;
  }
  for (const SortedJson* size : {&member(large, "size"), &member(entry, "size")}) {
    if (file.bytes == 0 && size->is_number_unsigned()) file.bytes = size->get<std::uint64_t>();
  }
  return file;
}

bool is_commit(const std::string& text) {
  return !text.empty() && text.size() <= 64 && text.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == std::string::npos;
}

/// What a hub says to an error: a header, or a member of the body.
std::string said_by(const Response& response) {
  std::string said = response.header("x-error-message");
  if (said.empty()) said = text_member(SortedJson::parse(response.body, nullptr, false), "error");
  return said.empty() ? "" : fmt::format(" ({})", skipstone::shortened(said, 300));
}

}  // namespace

void wait_seconds(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (interrupt::requested()) fail(ExitCode::interrupted, "interrupted; the next start continues where this one ended");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Hub::Hub(std::string address)
    : address_(without_slash(std::move(address))),
      has_token_(skipstone::env::get("HF_TOKEN").has_value()),
      client_(address_, skipstone::env::get("HF_TOKEN").value_or("")) {}

std::string Hub::url_of(const ModelName& model, const std::string& commit, const RemoteFile& file) const {
  return fmt::format("{}/{}/resolve/{}/{}", address_, model.repository(), commit, url_path(file.path));
}

Response Hub::ask(const Request& request, const TakeBody& take, int tries) {
  constexpr std::uint32_t most_patience = 300;
  Response response;
  for (int i = 0; i < tries; ++i) {
    response = client_.get(request, take);
    if (response.status == 0 || (response.status != 429 && response.status < 500)) break;
    if (i + 1 == tries || response.retry_after > most_patience) break;
    wait_seconds(response.retry_after > 0 ? response.retry_after : 1 << i);
  }
  return response;
}

std::string Hub::no_answer(const Response& response) const {
  const bool whole = response.status != 0 && response.problem.empty();
  return whole ? "" : fmt::format("{} does not answer: {}", address_, response.problem);
}

Listing Hub::list(const ModelName& model, int tries) {
  const std::string url = fmt::format("{}/api/models/{}/revision/main?blobs=true", address_, model.repository());
  std::string body;
  const auto take = [&](const Response&, std::span<const std::byte> bytes) {
    if (body.size() + bytes.size() > most_json_bytes) fail(ExitCode::failure, "{} lists more files than any model has", address_);
    body.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const Response response = ask({url}, take, tries);
  Listing listing{.commit = {}, .files = {}, .no_answer = no_answer(response)};
  if (!listing.no_answer.empty()) return listing;
  if (!response.is_good()) refuse(model, response);
  try {
    const SortedJson document = skipstone::parse_json_object(body, address_);
    listing.commit = text_member(document, "sha");
    const SortedJson& files = member(document, "siblings");
    for (const SortedJson& entry : files.is_array() ? files : SortedJson::array()) {
      RemoteFile file = file_of(entry);
      if (is_safe_path(file.path)) listing.files.push_back(std::move(file));
    }
  } catch (const skipstone::Error& error) {
    fail(ExitCode::failure, "{}; the hub's list of files cannot be read", error.what());
  }
  if (!is_commit(listing.commit)) fail(ExitCode::failure, "{}: the hub names no commit of {}", address_, model.repository());
  return listing;
}

void Hub::complete(const ModelName& model, const std::string& commit, RemoteFile& file) {
  if (!file.checksum.empty() && file.bytes > 0) return;
  const auto no_body = [](const Response&, std::span<const std::byte>) {};
  const Response response = ask({.url = url_of(model, commit, file), .head = true}, no_body, usual_tries);
  if (const std::string why = no_answer(response); !why.empty()) fail(ExitCode::failure, "{}", why);
  // The host that has the bytes may refuse HEAD; the hub's own headers are there all the same.
  std::string tag = response.header("x-linked-etag"), size = response.header("x-linked-size");
  if (tag.empty() && !response.is_good()) refuse(model, response);
  if (tag.empty()) tag = response.header("etag");
  if (size.empty()) size = response.header("content-length");
  std::erase(tag, '"');
  if (tag.starts_with("W/")) tag.erase(0, 2);
  const auto bytes = skipstone::parse_number<std::uint64_t>(size);
  if (!Checksum::is_one(tag) || !bytes || *bytes == 0) {
    fail(ExitCode::failure, "{}: the hub names no checksum of {}, so it cannot be fetched", address_, skipstone::shortened(file.path, 200));
  }
  file.checksum = tag;
  file.bytes = *bytes;
}

Response Hub::get(const ModelName& model, const std::string& commit, const RemoteFile& file, std::uint64_t from, const TakeBody& take) {
  return client_.get({.url = url_of(model, commit, file), .from = from, .most_seconds = 0}, take);
}

void Hub::refuse(const ModelName& model, const Response& response) const {
  const std::string name = model.repository(), said = said_by(response);
  switch (response.status) {
    case 401:
      if (has_token_)
        fail(ExitCode::bad_model, "{} does not show {} with the token in HF_TOKEN, or does not have it{}", address_, name, said);
      fail(ExitCode::bad_model, "{} does not show {} to everyone, or does not have it{}; a token in HF_TOKEN may show it", address_, name,
           said);
    case 403:
      fail(ExitCode::bad_model, "{} does not give out {}{}; access may have to be asked for on its page {}/{}", address_, name, said,
           address_, name);
    case 404:
      fail(ExitCode::bad_model, "{} has no model {}{}", address_, name, said);
    case 429:
      fail(ExitCode::failure, "{} takes no more requests now{}; it asks to wait {} seconds", address_, said, response.retry_after);
    default:
      fail(ExitCode::failure, "{} answers with status {}{}", address_, response.status, said);
  }
}

}  // namespace cli::pull
