// HTTP requests to a hub and to the hosts that it redirects to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace cli::pull {

struct Request {
  std::string url;
  bool head = false;                ///< headers alone
  std::uint64_t from = 0;           ///< the first byte that is wanted
  std::uint32_t most_seconds = 60;  ///< for the answer of one host; 0: as long as its bytes come
};

struct Response {
  long status = 0;                             ///< of the last host; 0: none came
  std::map<std::string, std::string> headers;  ///< of all hosts, names in lower case; those of a later host count
  std::string body;                            ///< of an answer other than 2xx, its beginning; of others it is given away
  std::string problem;                         ///< why the answer is not whole; "": it is
  std::uint32_t retry_after = 0;               ///< seconds to wait before the next request, where the answer says it
  bool of_hub = true;                          ///< the last host is the hub itself

  bool is_good() const { return status >= 200 && status < 300; }
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

/// Takes a part of the body of an answer of 2xx.
using TakeBody = std::function<void(const Response&, std::span<const std::byte>)>;

class HttpClient {
 public:
  /// `hub`: its address, as https://huggingface.co; `token`: "" for none, given to the hub alone, and to no host that it redirects to.
  /// Throws Failure for an address or a token that is none, and where libcurl is not there.
  HttpClient(const std::string& hub, const std::string& token);
  ~HttpClient();

  /// Follows redirects. An answer whose headers are too long, or whose bytes come too slowly, has a `problem`. Throws Failure for Ctrl-C
  /// and for redirects that lead nowhere, and what `take` throws.
  Response get(const Request& request, const TakeBody& take);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cli::pull
