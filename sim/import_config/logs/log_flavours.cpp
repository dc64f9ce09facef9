#include "sim/import_config/logs/log_flavours.hpp"

namespace orrery::import_config {

std::vector<LogPart> settings_of_text(ConfigFormat format,
                                      std::string_view text,
                                      const std::string& file,
                                      Diagnostics& diagnostics) {
  switch (format) {
    case ConfigFormat::megatron_log:
      return megatron_log_settings(text, file, diagnostics);
    case ConfigFormat::megatron_bridge_log:
      return bridge_log_settings(text, file, diagnostics);
    case ConfigFormat::nemo_log:
      return nemo_log_settings(text, file, diagnostics);
    case ConfigFormat::torchtitan_log:
      return torchtitan_log_settings(text, file, diagnostics);
    case ConfigFormat::deepspeed_log:
      return deepspeed_log_settings(text, file, diagnostics);
    case ConfigFormat::trainer_log:
      return trainer_log_settings(text, file, diagnostics);
    case ConfigFormat::nanotron_log:
      return nanotron_log_settings(text, file, diagnostics);
    default:
      return {};  // facts alone
  }
}

}  // namespace orrery::import_config
