#pragma once

// How do files reach the disk without ever being half written?
//
// write_file_atomically writes to a temporary file beside the target, syncs it and renames it over
// the target: a reader sees the old file or the new one, never a part. A symbolic link stays and
// its target is replaced; devices and pipes (`-o /dev/stdout`) cannot be replaced and are written
// directly. All functions throw Error(ErrorKind::io) with a line that names the file and the
// reason.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace orrery {

// Whole file as bytes. Throws when the file is missing, a directory, or above `max_bytes`.
[[nodiscard]] std::string read_file(const std::filesystem::path& path, std::size_t max_bytes);

void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// SHA-256 of the bytes as 64 lower-case hexadecimal digits (FIPS 180-4), to identify inputs.
[[nodiscard]] std::string sha256_hex(std::string_view content);

}  // namespace orrery
