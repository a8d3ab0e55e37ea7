#include "../cuda.h"
#include "../tasks.h"
#include "task.h"

TASK_FUNCTIONS(form_beams_task)

#include "../gemtc.h"
#include "../pagoda.h"
#include "../fusion.h"
