"""What settings, variables and hooks may say in Claude Code 2.1.329."""

from __future__ import annotations

from typing import Final

from policy.files.nodes import AnyOf, ListOf, MappingOf, ObjectOf, OneWord, ValueKind, ValueShape

__all__ = [
    "AGENTS_OFF",
    "ASKING_TOOLS",
    "DEPTH",
    "EDITS_INSIDE",
    "EVENTS",
    "FENCES",
    "FIELDS",
    "FILE_READS_INSIDE",
    "FOREGROUND",
    "GUARDS",
    "NO_AUTO",
    "OF_FILES",
    "ON",
    "READS_INSIDE",
    "SILENT",
    "SILENT_SCOPES",
    "TOOLS_OFF",
    "TOOLS_OFF_VARIABLE",
    "TOOL_EVENTS",
    "TYPES",
    "UNSCANNED",
    "VALUES",
]


# What settings call it that reads and edits are kept in working folders: by whatever reads, by
# what edits, and by the tools for files alone, which only whoever starts the host can say.
READS_INSIDE: Final = "blockReadsOutsideWorkingDirectories"
EDITS_INSIDE: Final = "blockWritesOutsideWorkingDirectories"
FILE_READS_INSIDE: Final = "blockFileToolReadsOutsideWorkingDirectories"
# Each with the scopes of settings whose additional folders count as inside: what comes with the
# files of a project opens nothing, and what whoever starts the host says nobody else does.
FENCES: Final = {
    READS_INSIDE: frozenset({"managed", "flag", "local", "user"}),
    EDITS_INSIDE: frozenset({"managed", "flag", "local", "user"}),
    FILE_READS_INSIDE: frozenset({"flag"}),
}


# What settings call it that nobody is asked: what would be asked for is denied. It counts where a
# project does not say it.
SILENT: Final = "denyInsteadOfPrompting"
SILENT_SCOPES: Final = frozenset({"managed", "flag", "user"})
# Tools that are not there then.
ASKING_TOOLS: Final = ("AskUserQuestion",)

# What settings call it that no model judges calls, in `permissions` and beside it.
NO_AUTO: Final = "disableAutoMode"
# Key -> what it says where the tools are switched off, and which those are. Of `Workflow` it is
# observed; no session without a person had `Artifact`.
TOOLS_OFF: Final = {
    "disableWorkflows": (True, ("Workflow",)),
    "enableWorkflows": (False, ("Workflow",)),
    "disableArtifact": (True, ("Artifact",)),
    "enableArtifact": (False, ("Artifact",)),
}


def _each(shape: ValueShape, names: str) -> dict[str, ValueShape]:
    return dict.fromkeys(names.split(), shape)


_TEXTS: Final = ListOf(ValueKind.TEXT, "a list of strings")
_COMMAND: Final[dict[str, ValueShape]] = {"type": OneWord("command"), "command": ValueKind.TEXT}
_PLAIN: Final = AnyOf(ValueKind.TEXT, ValueKind.NUMBER, ValueKind.TRUTH, _TEXTS)

_CREDENTIAL: Final[dict[str, ValueShape]] = {
    "mode": OneWord("deny", "mask"),
    "extract": ValueKind.TEXT,
    "onExtractNoMatch": OneWord("warn", "deny", "error"),
    "decode": OneWord("jwt"),
    "maskClaims": _TEXTS,
    "injectHosts": _TEXTS,
}
_SANDBOX: Final = ObjectOf(
    {
        **_each(
            ValueKind.TRUTH,
            "enabled failIfUnavailable autoAllowBashIfSandboxed allowUnsandboxedCommands"
            " enableWeakerNestedSandbox allowNestedUserNamespaces enableWeakerNetworkIsolation"
            " allowAppleEvents",
        ),
        "excludedCommands": _TEXTS,
        "ignoreViolations": MappingOf(_TEXTS),
        "ripgrep": ObjectOf({"command": ValueKind.TEXT, "args": _TEXTS}, needed=("command",)),
        "windows": ObjectOf({"backend": OneWord("sandboxuser", "mxc")}),
        "network": ObjectOf(
            {
                **_each(_TEXTS, "allowedDomains deniedDomains allowUnixSockets allowMachLookup"),
                **_each(
                    ValueKind.TRUTH,
                    "strictAllowlist allowManagedDomainsOnly allowAllUnixSockets allowLocalBinding",
                ),
                **_each(ValueKind.NUMBER, "httpProxyPort socksProxyPort"),
                "tlsTerminate": ObjectOf(_each(ValueKind.TEXT, "caCertPath caKeyPath")),
            }
        ),
        "filesystem": ObjectOf(
            {
                **_each(_TEXTS, "allowWrite denyWrite denyRead allowRead"),
                **_each(ValueKind.TRUTH, "allowManagedReadPathsOnly disabled"),
            }
        ),
        "credentials": ObjectOf(
            {
                "allowPlaintextInject": ValueKind.TRUTH,
                "files": ListOf(
                    ObjectOf({"path": ValueKind.TEXT, **_CREDENTIAL}, needed=("path", "mode"))
                ),
                "envVars": ListOf(
                    ObjectOf({"name": ValueKind.TEXT, **_CREDENTIAL}, needed=("name", "mode"))
                ),
            }
        ),
    }
)

# What `hooks` and `permissions` hold is read elsewhere.
VALUES: Final = ObjectOf(
    {
        **_each(
            ValueKind.TEXT,
            "$schema advisorModel agent apiKeyHelper attributionProject autoMemoryDirectory"
            " awsAuthRefresh awsCredentialExport claudeMd gcpAuthRefresh language"
            " minimumVersion model otelHeadersHelper outputStyle plansDirectory"
            " pluginTrustMessage prUrlTemplate processWrapper proxyAuthHelper"
            " requiredMaximumVersion requiredMinimumVersion timeFormat timeZone",
        ),
        **_each(
            ValueKind.TRUTH,
            "agentPushNotifEnabled allowAllClaudeAiMcps allowClaudeInChromeWithManagedMcp"
            " allowManagedHooksOnly allowManagedMcpServersOnly allowManagedPermissionRulesOnly"
            " allowNestedModelAccessUnderForceLogin alwaysThinkingEnabled autoCompactEnabled"
            " autoContinueAtUsageLimit autoDreamEnabled autoMemoryEnabled autoScrollEnabled"
            " autoUploadSessions awaySummaryEnabled bashEditDiffEnabled channelsEnabled"
            " clawdFileProgressEnabled disableAgentView disableAllHooks disableArtifact"
            " disableBundledSkills disableClaudeAiConnectors disableCommandPluginSources"
            " disableRemoteControl disableReplyCheck disableSideloadFlags"
            " disableSkillShellExecution disableWindowsBashCommandSplit disableWorkflows"
            " doneMeansMerged emojiCompletionEnabled enableAllProjectMcpServers enableArtifact"
            " enableWorkflows enforceAvailableModels fastMode fastModePerSessionOptIn"
            " fileCheckpointingEnabled forceRemoteSettingsRefresh idleCompaction"
            " includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled"
            " isolatePeerMachines precomputeCompactionEnabled prefersReducedMotion"
            " promptSuggestionEnabled remoteControlAtStartup respectGitignore"
            " respondToBashCommands responseComparisonEnabled showClearContextOnPlanAccept"
            " showMessageTimestamps showThinkingSummaries showTurnDuration"
            " skipDangerousModePermissionPrompt skipWebFetchPreflight skipWorkflowUsageWarning"
            " spinnerTipsEnabled switchModelsOnFlag syncClaudeAiPlugins syncClaudeAiSkills"
            " syntaxHighlightingDisabled terminalProgressBarEnabled terminalTitleFromRename"
            " todoFeatureEnabled totalTokensReminderAfterUserTurn verbose"
            " wheelScrollAccelerationEnabled workflowKeywordTriggerEnabled"
            " wslInheritsWindowsSettings",
        ),
        **_each(
            _TEXTS,
            "allowedHttpHookUrls availableModels claudeMdExcludes companyAnnouncements"
            " fallbackModel httpHookAllowedEnvVars pluginSuggestionMarketplaces",
        ),
        **_each(
            ValueKind.COUNT, "cleanupPeriodDays skillListingMaxDescChars totalTokensReminderBudget"
        ),
        **_each(MappingOf(), "autoMode env"),
        **_each(
            ListOf(MappingOf()),
            "allowedMarketplaces blockedMarketplaces strictKnownMarketplaces",
        ),
        "enabledPlugins": MappingOf(AnyOf(ValueKind.TRUTH, _TEXTS)),
        "allowedChannelPlugins": ListOf(
            ObjectOf(_each(ValueKind.TEXT, "marketplace plugin"), needed=("marketplace", "plugin"))
        ),
        "attribution": AnyOf(
            ValueKind.TRUTH,
            ObjectOf({**_each(ValueKind.TEXT, "commit pr"), "sessionUrl": ValueKind.TRUTH}),
        ),
        "autoUpdatesChannel": OneWord("latest", "stable", "rc"),
        "breakReminder": ObjectOf(
            {
                "enabled": ValueKind.TRUTH,
                **_each(ValueKind.COUNT, "intervalMinutes breakThresholdMinutes"),
                "message": ValueKind.TEXT,
            }
        ),
        "daemonColdStart": OneWord("transient", "ask"),
        "defaultShell": OneWord("bash", "powershell"),
        "desktopSessionCleanupPeriodDays": ValueKind.WHOLE,
        "disableAutoMode": OneWord("disable"),
        "feedbackDrafts": OneWord("notify", "quiet", "off"),
        "feedbackSurveyRate": ValueKind.RATE,
        "fileSuggestion": ObjectOf(_COMMAND, needed=("type", "command")),
        "forceLoginOrgUUID": AnyOf(ValueKind.TEXT, _TEXTS),
        **_each(OneWord("first-wins", "merge"), "managedSourcesBehavior parentSettingsBehavior"),
        "modelOverrides": MappingOf(ValueKind.TEXT),
        "pluginConfigs": MappingOf(
            ObjectOf({"mcpServers": MappingOf(MappingOf(_PLAIN)), "options": MappingOf(_PLAIN)})
        ),
        "quietHours": ObjectOf({"enabled": ValueKind.TRUTH, **_each(ValueKind.TIME, "start end")}),
        "remote": ObjectOf({"defaultEnvironmentId": ValueKind.TEXT}),
        "remoteTools": ObjectOf({"allowUnattendedServing": ValueKind.TRUTH}),
        "sandbox": _SANDBOX,
        "skillListingBudgetFraction": ValueKind.SHARE,
        "skillOverrides": MappingOf(OneWord("on", "name-only", "user-invocable-only", "off")),
        "spinnerVerbs": ObjectOf(
            {"mode": OneWord("append", "replace"), "verbs": _TEXTS}, needed=("mode", "verbs")
        ),
        "sshConfigs": ListOf(
            ObjectOf(
                {
                    **_each(ValueKind.TEXT, "id name sshHost sshIdentityFile startDirectory"),
                    "sshPort": ValueKind.NUMBER,
                },
                needed=("id", "name", "sshHost"),
            )
        ),
        "statusLine": ObjectOf(
            {**_COMMAND, "padding": ValueKind.NUMBER, "hideVimModeIndicator": ValueKind.TRUTH},
            needed=("type", "command"),
        ),
        "totalTokensReminder": OneWord("off", "infinite", "fixed", "countdown", "padded-countdown"),
        "tui": OneWord("default", "fullscreen"),
        "voice": ObjectOf(
            {**_each(ValueKind.TRUTH, "enabled autoSubmit"), "mode": OneWord("hold", "tap")}
        ),
        "workflowSizeGuideline": OneWord("unrestricted", "small", "medium", "large"),
        "worktree": ObjectOf(
            {**_each(_TEXTS, "symlinkDirectories sparsePaths"), "baseRef": OneWord("fresh", "head")}
        ),
    }
)


# The variables of Claude Code 2.1.329 that settings may set and that decide calls.


# What switches one on, in letters of any case.
ON: Final = frozenset({"1", "true", "yes", "on"})

# How many levels of agents may follow below the main conversation.
DEPTH: Final = "CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH"

# No agent is started in the background.
FOREGROUND: Final = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"

# Variable -> the agents of the host that there are not.
AGENTS_OFF: Final = {"CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS": frozenset({"Explore", "Plan"})}

# Variable -> the tools that there are not.
TOOLS_OFF_VARIABLE: Final = {
    "CLAUDE_CODE_DISABLE_CRON": ("CronCreate", "CronDelete", "CronList"),
    "CLAUDE_CODE_DISABLE_WEB_FETCH": ("WebFetch",),
    "CLAUDE_CODE_DISABLE_WORKFLOWS": ("Workflow",),
}


# The hooks of Claude Code 2.1.329: when they run, and what one wrong value costs.


# A wrong value below one of these costs the whole settings file, below another nothing.
GUARDS: Final = ("PreToolUse", "PermissionRequest")

# Whose matcher is about the tool of a call, and whose hooks may have an `if`.
TOOL_EVENTS: Final = frozenset({*GUARDS, "PostToolUse", "PostToolUseFailure", "PermissionDenied"})

EVENTS: Final = TOOL_EVENTS | frozenset(
    "ConfigChange CwdChanged Elicitation ElicitationResult FileChanged InstructionsLoaded"
    " Notification PostCompact PostToolBatch PreCompact SessionEnd SessionStart Setup Stop"
    " StopFailure SubagentStart SubagentStop TaskCompleted TaskCreated TeammateIdle"
    " UserPromptExpansion UserPromptSubmit WorktreeCreate WorktreeRemove MessageDisplay".split()
)

# Keys of a front matter below which no hook is looked for.
UNSCANNED: Final = frozenset({"metadata", "mcpServers", "lspServers"})

# Type of a hook -> the fields it needs.
TYPES: Final = {
    "command": ("command",),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "http": ("url",),
    "mcp_tool": ("server", "tool"),
}

# What the fields of a hook must be where they are given.
FIELDS: Final[dict[str, ValueShape]] = {
    "args": ListOf(ValueKind.TEXT, "a list of strings"),
    "async": ValueKind.TRUTH,
    "asyncRewake": ValueKind.TRUTH,
    "command": ValueKind.TEXT,
    "headers": MappingOf(),
    "if": ValueKind.TEXT,
    "model": ValueKind.TEXT,
    "once": ValueKind.TRUTH,
    "prompt": ValueKind.TEXT,
    "server": ValueKind.TEXT,
    "shell": OneWord("bash", "powershell"),
    "statusMessage": ValueKind.TEXT,
    "timeout": ValueKind.SECONDS,
    "tool": ValueKind.TEXT,
    "url": ValueKind.ADDRESS,
}

# The tools a condition on which may name files.
OF_FILES: Final = ("Read", "Edit", "Write", "NotebookEdit")
