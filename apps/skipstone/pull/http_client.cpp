#include "pull/http_client.h"

#include <algorithm>
#include <cctype>
#include <exception>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/platform/system.h"
#include "pull/curl_functions.h"
#include "skipstone/skipstone.hpp"
#include "terminal/exit_code.h"
#include "terminal/interrupt.h"
#include "terminal/output.h"

namespace cli::pull {
namespace {

CurlFunctions open_curl() {
  namespace platform = skipstone::platform;
  void* library = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"}) {
    if (library == nullptr) library = platform::open_library(name);
  }
  CurlFunctions functions;
#define SKIPSTONE_TAKE(name) \
  functions.name = library == nullptr ? nullptr : reinterpret_cast<decltype(functions.name)>(platform::find_symbol(library, #name));
  SKIPSTONE_CURL_FUNCTIONS(SKIPSTONE_TAKE)
#undef SKIPSTONE_TAKE
  bool whole = true;
#define SKIPSTONE_CHECK(name) whole = whole && functions.name != nullptr;
  SKIPSTONE_CURL_FUNCTIONS(SKIPSTONE_CHECK)
#undef SKIPSTONE_CHECK
  if (!whole || functions.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    fail(ExitCode::failure, "models are fetched with libcurl, version 7.66 or later, which is not on this machine (Debian: libcurl4)");
  }
  return functions;
}

/// A part of an address; "" where it has none.
std::string part_of(CURLU* address, CURLUPart part) {
  char* text = nullptr;
  if (curl().curl_url_get(address, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string copy(text);
  curl().curl_free(text);
  std::ranges::transform(copy, copy.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return copy;
}

/// Scheme, host and port; "" for anything but http and https.
std::string origin_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> address(curl().curl_url(), curl().curl_url_cleanup);
  if (!address || curl().curl_url_set(address.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  const std::string scheme = part_of(address.get(), CURLUPART_SCHEME), host = part_of(address.get(), CURLUPART_HOST);
  if ((scheme != "http" && scheme != "https") || host.empty()) return {};
  return scheme + "://" + host + ':' + part_of(address.get(), CURLUPART_PORT);
}

std::string checked_token(const std::string& token) {
  const std::size_t first = token.find_first_not_of(" \t\r\n"), last = token.find_last_not_of(" \t\r\n");
  std::string trimmed = first == token.npos ? "" : token.substr(first, last - first + 1);
  if (!std::ranges::all_of(trimmed, [](char c) { return c > ' ' && c <= '~'; })) {
    fail(ExitCode::usage, "the token in HF_TOKEN has characters that no token has");
  }
  return trimmed;
}

constexpr std::size_t most_header_bytes = std::size_t{256} << 10;

/// Whether an origin is this machine, whose connections no other one reads.
bool is_local(std::string_view origin) {
  std::string_view host = origin.substr(origin.find("://") + 3);
  host = host.substr(0, host.rfind(':'));
  const bool loopback = host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos;
  return loopback || host == "localhost" || host == "[::1]";
}

/// What libcurl's callbacks fill during one transfer. They are called from C: what `take` throws waits in `thrown`.
struct Callbacks {
  CURL* handle;
  Response& response;
  const TakeBody& take;
  std::exception_ptr thrown = nullptr;
  std::size_t header_bytes = 0;
  bool enough = false;  ///< of an answer other than 2xx, of which the beginning is enough
};

std::size_t on_header(char* data, std::size_t, std::size_t size, void* user_data) {
  auto& transfer = *static_cast<Callbacks*>(user_data);
  transfer.header_bytes += size;
  if (transfer.header_bytes > most_header_bytes) return 0;
  Response& response = transfer.response;
  const std::string_view line(data, size);
  const std::size_t colon = line.find(':');
  if (colon == line.npos || response.headers.size() > 200) return size;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t begin = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
  const std::size_t end = line.find_last_not_of(" \t\r\n") + 1;
  response.headers[name] = std::string(line.substr(begin, std::max(begin, end) - begin));
  return size;
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user_data) {
  auto& transfer = *static_cast<Callbacks*>(user_data);
  Response& response = transfer.response;
  curl().curl_easy_getinfo(transfer.handle, CURLINFO_RESPONSE_CODE, &response.status);
  constexpr std::size_t most_kept = std::size_t{64} << 10;
  if (!response.is_good()) {
    response.body.append(data, std::min(size, most_kept - std::min(most_kept, response.body.size())));
    transfer.enough = response.body.size() == most_kept;
    return transfer.enough ? 0 : size;
  }
  try {
    transfer.take(response, std::as_bytes(std::span(data, size)));
    return size;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 0;
  }
}

int on_progress(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return interrupt::requested() ? 1 : 0; }

}  // namespace

const CurlFunctions& curl() {
  static const CurlFunctions functions = open_curl();
  return functions;
}

struct HttpClient::State {
  std::string origin, token;
  std::unique_ptr<CURL, decltype(&::curl_easy_cleanup)> handle{curl().curl_easy_init(), curl().curl_easy_cleanup};

  /// One request without redirects; returns the address of a redirect, or "".
  std::string perform(const Request& request, Response& response, const TakeBody& take);
};

HttpClient::HttpClient(const std::string& hub, const std::string& token) : state_(std::make_unique<State>()) {
  state_->origin = origin_of(hub);
  if (state_->origin.empty()) {
    fail(ExitCode::usage, "'{}' is no address of a hub; one is as https://huggingface.co", skipstone::shortened(hub));
  }
  state_->token = checked_token(token);
  if (!state_->token.empty() && state_->origin.starts_with("http:") && !is_local(state_->origin)) {
    note("warning: the token in HF_TOKEN goes to {} without encryption", state_->origin);
  }
  if (!state_->handle) fail(ExitCode::out_of_memory, "there is no memory for a transfer");
}

HttpClient::~HttpClient() = default;

std::string HttpClient::State::perform(const Request& request, Response& response, const TakeBody& take) {
  const CurlFunctions& c = curl();
  CURL* const h = handle.get();
  curl_slist* list = nullptr;
  const auto add_header = [&](const std::string& line) { list = c.curl_slist_append(list, line.c_str()); };
  add_header("Accept-Encoding: identity");
  if (request.from > 0) add_header("Range: bytes=" + std::to_string(request.from) + '-');
  if (response.of_hub && !token.empty()) add_header("Authorization: Bearer " + token);
  const std::unique_ptr<curl_slist, decltype(&::curl_slist_free_all)> headers(list, c.curl_slist_free_all);
  const std::string agent = std::string("skipstone/") + skipstone_version();
  Callbacks transfer{.handle = h, .response = response, .take = take};
  c.curl_easy_reset(h);
  c.curl_easy_setopt(h, CURLOPT_URL, request.url.c_str());
  c.curl_easy_setopt(h, CURLOPT_USERAGENT, agent.c_str());
  c.curl_easy_setopt(h, CURLOPT_HTTPHEADER, headers.get());
  c.curl_easy_setopt(h, CURLOPT_NOBODY, request.head ? 1L : 0L);
  c.curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
  c.curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, 30L);
  c.curl_easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1024L);
  c.curl_easy_setopt(h, CURLOPT_LOW_SPEED_TIME, 30L);
  c.curl_easy_setopt(h, CURLOPT_TIMEOUT, static_cast<long>(request.most_seconds));
  c.curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, &on_header);
  c.curl_easy_setopt(h, CURLOPT_HEADERDATA, &transfer);
  c.curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, &on_body);
  c.curl_easy_setopt(h, CURLOPT_WRITEDATA, &transfer);
  c.curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, &on_progress);
  c.curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
  const CURLcode result = c.curl_easy_perform(h);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  if (result == CURLE_ABORTED_BY_CALLBACK) fail(ExitCode::interrupted, "interrupted; the next start continues where this one ended");
  c.curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &response.status);
  if (transfer.header_bytes > most_header_bytes) {
    response.problem = "the headers of its answer have no end";
  } else if (result != CURLE_OK && !transfer.enough) {
    response.problem = c.curl_easy_strerror(result);
  }
  curl_off_t seconds = 0;
  c.curl_easy_getinfo(h, CURLINFO_RETRY_AFTER, &seconds);
  response.retry_after = static_cast<std::uint32_t>(std::clamp<curl_off_t>(seconds, 0, 1000000));
  const char* redirect = nullptr;
  c.curl_easy_getinfo(h, CURLINFO_REDIRECT_URL, &redirect);
  return redirect != nullptr && response.problem.empty() && response.status / 100 == 3 ? redirect : "";
}

Response HttpClient::get(const Request& request, const TakeBody& take) {
  constexpr int most_redirects = 10;
  Response response;
  Request current = request;
  for (int redirects = 0; redirects <= most_redirects; ++redirects) {
    response.of_hub = origin_of(current.url) == state_->origin;
    response.body.clear();
    const std::string next = state_->perform(current, response, take);
    if (next.empty()) return response;
    const bool plain = next.starts_with("http:") || next.starts_with("HTTP:");
    if (origin_of(next).empty() || (plain && current.url.starts_with("https:"))) {
      fail(ExitCode::failure, "{} redirects to {}, which is not followed", skipstone::shortened(current.url, 200),
           skipstone::shortened(next, 200));
    }
    current.url = next;
  }
  fail(ExitCode::failure, "{} redirects more than {} times", skipstone::shortened(request.url, 200), most_redirects);
}

}  // namespace cli::pull
